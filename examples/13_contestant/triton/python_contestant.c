/* A contestant that is written in Python: the five functions start an interpreter and call the functions of
   contestant.py, which lies beside the library (that of Triton says what it has to have). Names of a problem
   and of its operands are those of contestant_interface.h; weights are memoryviews, X and Y addresses. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <weft/search/measure/contestant_interface.h>

static PyObject* module;    /* contestant.py, once it is imported */
static char no_module[512]; /* why it is not */
static char name[64], version[128], arithmetic[16];

/* The exception that was raised, in a sentence; it is over then. */
static void tell_exception(char* why, size_t why_bytes) {
  PyObject* text = NULL;
  const char *type = "an exception", *sentence = NULL;
#if PY_VERSION_HEX >= 0x030C0000
  PyObject* value = PyErr_GetRaisedException();
#else
  PyObject *kind = NULL, *value = NULL, *traceback = NULL;
  PyErr_Fetch(&kind, &value, &traceback);
  PyErr_NormalizeException(&kind, &value, &traceback);
  Py_XDECREF(kind);
  Py_XDECREF(traceback);
#endif
  if (value != NULL) {
    type = Py_TYPE(value)->tp_name;
    text = PyObject_Str(value);
    if (text != NULL) sentence = PyUnicode_AsUTF8(text);
  }
  snprintf(why, why_bytes, "%s: %s", type, sentence != NULL ? sentence : "");
  Py_XDECREF(text);
  Py_XDECREF(value);
  PyErr_Clear();
}

/* The folder of this library. */
static PyObject* own_folder(void) {
  Dl_info info;
  const char* end;
  if (dladdr((void*)&module, &info) == 0 || (end = strrchr(info.dli_fname, '/')) == NULL)
    return PyUnicode_FromString(".");
  return PyUnicode_DecodeFSDefaultAndSize(info.dli_fname, end - info.dli_fname);
}

/* A text of the module in `to`; nothing where it has none. */
static void take_text(const char* attribute, char* to, size_t bytes) {
  PyObject* text = PyObject_GetAttrString(module, attribute);
  const char* characters = text != NULL && PyUnicode_Check(text) ? PyUnicode_AsUTF8(text) : NULL;
  if (characters != NULL) snprintf(to, bytes, "%s", characters);
  PyErr_Clear();
  Py_XDECREF(text);
}

static int start_interpreter(void) {
  Dl_info info;
  PyConfig config;
  PyStatus status;
  if (Py_IsInitialized()) return 1;
  /* Modules in C look for the interpreter's functions among those of the program. */
  if (dladdr((void*)&PyExc_BaseException, &info) != 0)
    dlopen(info.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
  PyConfig_InitPythonConfig(&config);
  config.install_signal_handlers = 0;
  status = PyConfig_SetBytesString(&config, &config.program_name, PYTHON); /* whose packages there are */
  if (!PyStatus_Exception(status)) status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  if (PyStatus_Exception(status)) {
    snprintf(no_module, sizeof no_module, "Python does not start: %s",
             status.err_msg != NULL ? status.err_msg : PYTHON);
    return 0;
  }
  PyEval_SaveThread(); /* whoever calls takes the lock */
  return 1;
}

static void import_module(void) {
  PyGILState_STATE lock;
  PyObject *path, *folder;
  if (module != NULL || no_module[0] != '\0' || !start_interpreter()) return;
  lock = PyGILState_Ensure();
  path = PySys_GetObject("path");
  folder = own_folder();
  if (path != NULL && folder != NULL) PyList_Insert(path, 0, folder);
  Py_XDECREF(folder);
  module = PyImport_ImportModule("contestant");
  if (module == NULL) {
    tell_exception(no_module, sizeof no_module);
  } else {
    take_text("name", name, sizeof name);
    take_text("version", version, sizeof version);
    take_text("arithmetic", arithmetic, sizeof arithmetic);
  }
  PyGILState_Release(lock);
}

const struct weft_contestant_description* weft_contestant_describe(void) {
  static struct weft_contestant_description description = {WEFT_CONTESTANT_INTERFACE, "contestant.py",
                                                           version, arithmetic};
  import_module();
  if (name[0] != '\0') description.name = name;
  return &description;
}

static PyObject* pair(const int64_t two[2]) {
  return Py_BuildValue("(LL)", (long long)two[0], (long long)two[1]);
}

static PyObject* convolution_of(const struct weft_contestant_convolution* c) {
  if (c == NULL) Py_RETURN_NONE;
  return Py_BuildValue("{s:L,s:L,s:L,s:L,s:N,s:N,s:N,s:N,s:N,s:N}", "images", (long long)c->images,
                       "channels", (long long)c->channels, "filters", (long long)c->filters, "groups",
                       (long long)c->groups, "image", pair(c->image), "filter", pair(c->filter), "pad",
                       pair(c->pad), "stride", pair(c->stride), "dilation", pair(c->dilation), "output",
                       pair(c->output));
}

static PyObject* problem_of(const struct weft_contestant_problem* p) {
  return Py_BuildValue("{s:i,s:i,s:s,s:s,s:s,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:N}", "device", (int)p->device,
                       "threads", (int)p->threads, "element", p->element, "result", p->result, "after_sum",
                       p->after_sum, "rows", (long long)p->rows, "inner", (long long)p->inner, "columns",
                       (long long)p->columns, "stored", (long long)p->stored, "group_rows",
                       (long long)p->group_rows, "group_of", (long long)p->group_of, "block",
                       (long long)p->block, "convolution", convolution_of(p->convolution));
}

static PyObject* view_of(const void* data, int64_t count, size_t width) {
  if (data == NULL && count > 0) Py_RETURN_NONE;
  return PyMemoryView_FromMemory(count > 0 ? (char*)data : "", (Py_ssize_t)((size_t)count * width),
                                 PyBUF_READ);
}

static size_t width_of(const char* element) {
  return strcmp(element, "f32") == 0                                   ? 4
         : strcmp(element, "f16") == 0 || strcmp(element, "bf16") == 0 ? 2
                                                                       : 1;
}

static PyObject* operands_of(const struct weft_contestant_problem* p,
                             const struct weft_contestant_operands* o) {
  const size_t width = width_of(p->element);
  return Py_BuildValue(
      "{s:N,s:N,s:N,s:N,s:N,s:K,s:K}", "row_begin", view_of(o->row_begin, p->rows + 1, sizeof(int64_t)),
      "column", view_of(o->column, p->stored, sizeof(int32_t)), "values",
      view_of(o->values, p->stored, width), "dense", view_of(o->dense, p->rows * p->inner, width),
      "row_order", view_of(o->row_order, p->rows, sizeof(int32_t)), "x", (unsigned long long)(uintptr_t)o->x,
      "y", (unsigned long long)(uintptr_t)o->y);
}

/* Whether the wish is among those that takes() gave back. */
static int32_t wished(PyObject* wishes, const char* wish) {
  PyObject* value = PyDict_Check(wishes) ? PyDict_GetItemString(wishes, wish) : NULL;
  return value != NULL && PyObject_IsTrue(value) == 1;
}

int weft_contestant_takes(const struct weft_contestant_problem* problem,
                          struct weft_contestant_wishes* wishes, char* why, size_t why_bytes) {
  PyGILState_STATE lock;
  PyObject* answer;
  int refused = 1;
  if (module == NULL) {
    snprintf(why, why_bytes, "%s", no_module);
    return 1;
  }
  lock = PyGILState_Ensure();
  answer = PyObject_CallMethod(module, "takes", "(N)", problem_of(problem));
  if (answer == NULL) {
    tell_exception(why, why_bytes);
  } else if (PyUnicode_Check(answer)) {
    snprintf(why, why_bytes, "%s", PyUnicode_AsUTF8(answer));
  } else {
    wishes->x_features_last = wished(answer, "x_features_last");
    wishes->y_features_last = wished(answer, "y_features_last");
    wishes->dense = wished(answer, "dense");
    refused = 0;
  }
  Py_XDECREF(answer);
  PyGILState_Release(lock);
  return refused;
}

/* What is prepared is a Python function of the stream. */
int weft_contestant_prepare(const struct weft_contestant_problem* problem,
                            const struct weft_contestant_operands* operands, void** prepared, char* why,
                            size_t why_bytes) {
  const PyGILState_STATE lock = PyGILState_Ensure();
  PyObject* launch =
      PyObject_CallMethod(module, "prepare", "(NN)", problem_of(problem), operands_of(problem, operands));
  if (launch == NULL) tell_exception(why, why_bytes);
  PyGILState_Release(lock);
  *prepared = launch;
  return launch == NULL;
}

int weft_contestant_launch(void* prepared, void* stream, char* why, size_t why_bytes) {
  const PyGILState_STATE lock = PyGILState_Ensure();
  PyObject* nothing = PyObject_CallFunction(prepared, "K", (unsigned long long)(uintptr_t)stream);
  const int failed = nothing == NULL;
  if (failed) tell_exception(why, why_bytes);
  Py_XDECREF(nothing);
  PyGILState_Release(lock);
  return failed;
}

void weft_contestant_release(void* prepared) {
  const PyGILState_STATE lock = PyGILState_Ensure();
  Py_DECREF((PyObject*)prepared);
  PyGILState_Release(lock);
}
