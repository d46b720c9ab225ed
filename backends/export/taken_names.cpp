#include <fmt/format.h>
#include <weft/backends/cuda/library_names.h>
#include <weft/backends/cuda/source_text.h>
#include <weft/backends/export/taken_names.h>
#include <weft/dsl/names.h>

#include <algorithm>

namespace weft::exporting {
namespace {

/// Words of C and C++ up to C23 and C++23 that weft's own rule for names leaves free.
constexpr std::string_view words_of_c = " restrict typeof typeof_unqual import module std ";
constexpr std::string_view words_of_python =
    " False None True as async await def del elif except finally from global import in is lambda nonlocal "
    "pass raise with yield ";
/// Macros of gcc where it is not asked for the strict language.
constexpr std::string_view predefined = " linux unix i386 ";
/// Headers that those of the C library, of CUDA and of the package itself ask for by these names.
constexpr std::string_view headers =
    " alloca assert builtin_types complex crt_config cuda cuda_bf16 cuda_fp16 cuda_runtime cuda_runtime_api "
    "ctype dlfcn driver_types endian errno features fenv fcntl float host_config host_defines inttypes "
    "iso646 "
    "limits locale malloc math memory mqueue poll pthread sched semaphore setjmp signal stdalign stdarg "
    "stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string strings surface_types syscall tgmath "
    "texture_types threads time uchar ucontext unistd values vector_functions vector_types wait wchar "
    "wctype ";
/// Libraries that a program is linked with by these names: lib<name>.
constexpr std::string_view libraries =
    " anl asan atomic c c10 crypt cuda cudart dl gcc gcc_s m nsl pthread resolv rt stdc torch_cpu "
    "torch_cuda torch_python ubsan util z ";
/// Families of functions in the C library: <name>_open and <name>_close are there.
constexpr std::string_view families = " fts fts64 iconv mq pidfd sem shm ";
/// Beginnings of the macros of <pthread.h>, <sched.h>, <time.h> and <fcntl.h>, which C++'s own headers ask
/// for.
constexpr std::string_view macro_prefixes[] = {"ADJ_",    "AT_",  "CLOCK_", "CLONE_",   "CPU_",
                                               "FALLOC_", "MOD_", "POSIX_", "PTHREAD_", "SCHED_",
                                               "SPLICE_", "STA_", "SYNC_",  "SYS_",     "TIMER_"};
/// What CMake and the programs that build for it call their own targets, and the prefix of CMake's variables.
constexpr std::string_view words_of_cmake =
    " ALL_BUILD CMAKE CPACK CTEST INSTALL PACKAGE RUN_TESTS ZERO_CHECK all clean depend edit_cache help "
    "install list_install_components package package_source preinstall rebuild_cache test ";
/// Namespaces of PyTorch's C++, and a function that the package's Python module has.
constexpr std::string_view names_of_torch = " aoti at c10 caffe2 load torch ";
constexpr std::string_view modules_of_python =
    " abc aifc antigravity argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb "
    "binascii bisect builtins bz2 cProfile calendar cgi cgitb chunk cmath cmd code codecs codeop "
    "collections colorsys compileall concurrent configparser contextlib contextvars copy copyreg "
    "crypt csv ctypes curses dataclasses datetime dbm decimal difflib dis distutils doctest email "
    "encodings ensurepip enum errno faulthandler fcntl filecmp fileinput filelock fnmatch fractions "
    "ftplib functools gc genericpath getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac "
    "html http idlelib imaplib imghdr imp importlib inspect io ipaddress itertools jinja2 json "
    "keyword lib2to3 linecache locale logging lzma mailbox mailcap marshal math mimetypes mmap "
    "modulefinder msilib msvcrt multiprocessing netrc networkx nis nntplib nt ntpath nturl2path "
    "numbers numpy opcode operator optparse os ossaudiodev packaging pathlib pdb pickle pickletools "
    "pipes pkgutil platform plistlib poplib posix posixpath pprint profile pstats pty pwd py_compile "
    "pyclbr pydoc pydoc_data pyexpat queue quopri random re readline reprlib resource rlcompleter "
    "runpy sched secrets select selectors setuptools shelve shlex shutil signal site smtpd smtplib "
    "sndhdr socket socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics "
    "string stringprep struct subprocess sunau sympy symtable sys sysconfig syslog tabnanny tarfile "
    "telnetlib tempfile termios test textwrap this threading time timeit tkinter token tokenize "
    "tomllib torch trace traceback tracemalloc triton tty turtle turtledemo types typing unicodedata "
    "unittest urllib uu uuid venv warnings wave weakref webbrowser winreg winsound wsgiref xdrlib xml "
    "xmlrpc zipapp zipfile zipimport zlib zoneinfo ";

bool among(std::string_view name, std::string_view words) {
  return words.find(fmt::format(" {} ", name)) != std::string_view::npos;
}

bool is_letter_of_ascii(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace

bool is_spelled_as_name(std::string_view name) {
  return !name.empty() && is_letter_of_ascii(name.front()) && name.find("__") == std::string_view::npos &&
         std::ranges::all_of(
             name, [](char c) { return is_letter_of_ascii(c) || (c >= '0' && c <= '9') || c == '_'; });
}

std::string meaning_as_word(std::string_view name) {
  if (!is_spelled_as_name(name)) return {};
  if (!weft::is_identifier(name) || among(name, words_of_c)) return "a word of C and C++";
  return among(name, words_of_python) ? "a word of Python" : "";
}

std::string meaning_as_name(std::string_view name) {
  if (const std::string_view header = cuda::library_header_of(name); !header.empty())
    return fmt::format("a name of {}", header);
  if (std::ranges::any_of(macro_prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); }))
    return "like the macros of POSIX's headers";
  if (among(name, headers)) return fmt::format("the name of the header <{}.h>", name);
  if (among(name, predefined)) return "a macro that compilers define";
  if (cuda::is_reserved(name)) return "a name of CUDA C++";
  if (among(name, families)) return fmt::format("the C library's: it has {}_open", name);
  if (among(name, libraries)) return fmt::format("the name of the library lib{}", name);
  if (among(name, words_of_cmake)) return "a name of CMake's own";
  if (among(name, names_of_torch)) return "a name of the operator for PyTorch";
  return among(name, modules_of_python) ? "a module of Python" : "";
}

}  // namespace weft::exporting
