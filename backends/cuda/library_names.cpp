// Names that the headers of C and POSIX give a meaning: functions, types and macros as glibc 2.36 and gcc 12
// have them, a header a row, each name with the header that a reader thinks of first.
#include <weft/backends/cuda/library_names.h>

#include <string>

namespace weft::cuda {
namespace {

struct LibraryNames {
  std::string_view header;  ///< "<stdio.h>"
  std::string_view names;   ///< " BUFSIZ EOF … ", each between spaces
};

constexpr LibraryNames rows[] = {
    {"<stdio.h>",
     " BUFSIZ EOF FILE FILENAME_MAX FOPEN_MAX L_ctermid L_cuserid L_tmpnam NULL P_tmpdir SEEK_CUR "
     "SEEK_DATA SEEK_END SEEK_HOLE SEEK_SET TMP_MAX asprintf clearerr clearerr_unlocked "
     "cookie_close_function_t cookie_io_functions_t cookie_read_function_t cookie_seek_function_t "
     "cookie_write_function_t ctermid cuserid dprintf fclose fcloseall fdopen feof feof_unlocked "
     "ferror ferror_unlocked fflush fflush_unlocked fgetc fgetc_unlocked fgetpos fgetpos64 fgets "
     "fgets_unlocked fileno fileno_unlocked flockfile fmemopen fopen fopen64 fopencookie fpos64_t "
     "fpos_t fprintf fputc fputc_unlocked fputs fputs_unlocked fread fread_unlocked freopen freopen64 "
     "fscanf fseek fseeko fseeko64 fsetpos fsetpos64 ftell ftello ftello64 ftrylockfile funlockfile "
     "fwrite fwrite_unlocked getc getc_unlocked getchar getchar_unlocked getdelim getline getw "
     "obstack_printf obstack_vprintf off64_t off_t open_memstream pclose perror popen printf putc "
     "putc_unlocked putchar putchar_unlocked puts putw remove rename renameat renameat2 rewind scanf "
     "setbuf setbuffer setlinebuf setvbuf size_t snprintf sprintf sscanf ssize_t stderr stdin stdout "
     "tempnam tmpfile tmpfile64 tmpnam tmpnam_r ungetc vasprintf vdprintf vfprintf vfscanf vprintf "
     "vscanf vsnprintf vsprintf vsscanf "},
    {"<stdlib.h>",
     " BIG_ENDIAN BYTE_ORDER EXIT_FAILURE EXIT_SUCCESS FD_CLR FD_ISSET FD_SET FD_SETSIZE FD_ZERO "
     "LITTLE_ENDIAN MB_CUR_MAX NFDBITS PDP_ENDIAN RAND_MAX WCONTINUED WEXITED WEXITSTATUS WIFCONTINUED "
     "WIFEXITED WIFSIGNALED WIFSTOPPED WNOHANG WNOWAIT WSTOPPED WSTOPSIG WTERMSIG WUNTRACED a64l abort "
     "abs aligned_alloc alloca arc4random arc4random_buf arc4random_uniform at_quick_exit atexit atof "
     "atoi atol atoll be16toh be32toh be64toh blkcnt64_t blkcnt_t blksize_t bsearch caddr_t calloc "
     "canonicalize_file_name clearenv comparison_fn_t daddr_t dev_t div div_t drand48 drand48_data "
     "drand48_r ecvt ecvt_r erand48 erand48_r exit fcvt fcvt_r fd_mask fd_set free fsblkcnt64_t "
     "fsblkcnt_t fsfilcnt64_t fsfilcnt_t fsid_t gcvt getenv getloadavg getpt getsubopt gid_t grantpt "
     "htobe16 htobe32 htobe64 htole16 htole32 htole64 id_t initstate initstate_r ino64_t ino_t jrand48 "
     "jrand48_r key_t l64a labs lcong48 lcong48_r ldiv ldiv_t le16toh le32toh le64toh llabs lldiv "
     "lldiv_t loff_t lrand48 lrand48_r malloc mblen mbstowcs mbtowc mkdtemp mkostemp mkostemp64 "
     "mkostemps mkostemps64 mkstemp mkstemp64 mkstemps mkstemps64 mktemp mode_t mrand48 mrand48_r "
     "nlink_t nrand48 nrand48_r on_exit posix_memalign posix_openpt pselect pthread_attr_t "
     "pthread_barrier_t pthread_barrierattr_t pthread_cond_t pthread_condattr_t pthread_key_t "
     "pthread_mutex_t pthread_mutexattr_t pthread_once_t pthread_rwlock_t pthread_rwlockattr_t "
     "pthread_spinlock_t pthread_t ptsname ptsname_r putenv qecvt qecvt_r qfcvt qfcvt_r qgcvt qsort "
     "qsort_r quad_t quick_exit rand rand_r random random_data random_r realloc reallocarray realpath "
     "register_t rpmatch secure_getenv seed48 seed48_r select setenv setstate setstate_r sigset_t "
     "srand srand48 srand48_r srandom srandom_r strfromd strfromf strfroml strtod strtod_l strtof "
     "strtof128_l strtof32_l strtof32x_l strtof64_l strtof64x_l strtof_l strtol strtol_l strtold "
     "strtold_l strtoll strtoll_l strtoq strtoul strtoul_l strtoull strtoull_l strtouq suseconds_t "
     "system timeval u_char u_int u_int16_t u_int32_t u_int64_t u_int8_t u_long u_quad_t u_short uid_t "
     "uint ulong unlockpt unsetenv ushort valloc wcstombs wctomb "},
    {"<string.h>",
     " basename bcmp bcopy bzero explicit_bzero ffs ffsl ffsll index locale_t memccpy memchr memcmp "
     "memcpy memfrob memmem memmove mempcpy memrchr memset rawmemchr rindex sigabbrev_np sigdescr_np "
     "stpcpy stpncpy strcasecmp strcasecmp_l strcasestr strcat strchr strchrnul strcmp strcoll "
     "strcoll_l strcpy strcspn strdup strdupa strerror strerror_l strerror_r strerrordesc_np "
     "strerrorname_np strfry strlen strncasecmp strncasecmp_l strncat strncmp strncpy strndup strndupa "
     "strnlen strpbrk strrchr strsep strsignal strspn strstr strtok strtok_r strverscmp strxfrm "
     "strxfrm_l "},
    {"<math.h>",
     " FP_ILOGB0 FP_ILOGBNAN FP_INFINITE FP_INT_DOWNWARD FP_INT_TONEAREST FP_INT_TONEARESTFROMZERO "
     "FP_INT_TOWARDZERO FP_INT_UPWARD FP_LLOGB0 FP_LLOGBNAN FP_NAN FP_NORMAL FP_SUBNORMAL FP_ZERO "
     "HUGE_VAL HUGE_VALF HUGE_VALL INFINITY MATH_ERREXCEPT MATH_ERRNO MAXFLOAT M_1_PI M_1_PIf M_1_PIl "
     "M_2_PI M_2_PIf M_2_PIl M_2_SQRTPI M_2_SQRTPIf M_2_SQRTPIl M_E M_Ef M_El M_LN10 M_LN10f M_LN10l "
     "M_LN2 M_LN2f M_LN2l M_LOG10E M_LOG10Ef M_LOG10El M_LOG2E M_LOG2Ef M_LOG2El M_PI M_PI_2 M_PI_2f "
     "M_PI_2l M_PI_4 M_PI_4f M_PI_4l M_PIf M_PIl M_SQRT1_2 M_SQRT1_2f M_SQRT1_2l M_SQRT2 M_SQRT2f "
     "M_SQRT2l NAN SNAN SNANF SNANL acos acosf acosh acoshf acoshl acosl asin asinf asinh asinhf "
     "asinhl asinl atan atan2 atan2f atan2l atanf atanh atanhf atanhl atanl canonicalize canonicalizef "
     "canonicalizel cbrt cbrtf cbrtl ceil ceilf ceill copysign copysignf copysignl cos cosf cosh coshf "
     "coshl cosl daddl ddivl dfmal dmull double_t drem dremf dreml dsqrtl dsubl erf erfc erfcf erfcl "
     "erff erfl exp exp10f exp10l exp2 exp2f exp2l expf expl expm1 expm1f expm1l fabs fabsf fabsl fadd "
     "faddl fdim fdimf fdiml fdiv fdivl ffma ffmal finite finitef finitel float_t floor floorf floorl "
     "fma fmaf fmal fmax fmaxf fmaximum fmaximum_mag fmaximum_mag_num fmaximum_mag_numf "
     "fmaximum_mag_numl fmaximum_magf fmaximum_magl fmaximum_num fmaximum_numf fmaximum_numl fmaximumf "
     "fmaximuml fmaxl fmaxmag fmaxmagf fmaxmagl fmin fminf fminimum fminimum_mag fminimum_mag_num "
     "fminimum_mag_numf fminimum_mag_numl fminimum_magf fminimum_magl fminimum_num fminimum_numf "
     "fminimum_numl fminimumf fminimuml fminl fminmag fminmagf fminmagl fmod fmodf fmodl fmul fmull "
     "fpclassify frexp frexpf frexpl fromfp fromfpf fromfpl fromfpx fromfpxf fromfpxl fsqrt fsqrtl "
     "fsub fsubl gamma gammaf gammal getpayload getpayloadf getpayloadl hypot hypotf hypotl ilogb "
     "ilogbf ilogbl iscanonical iseqsig isfinite isgreater isgreaterequal isinf isinff isinfl isless "
     "islessequal islessgreater isnan isnanf isnanl isnormal issignaling issubnormal isunordered "
     "iszero j0 j0f j0l j1 j1f j1l jn jnf jnl ldexp ldexpf ldexpl lgamma lgamma_r lgammaf lgammaf128_r "
     "lgammaf32_r lgammaf32x_r lgammaf64_r lgammaf64x_r lgammaf_r lgammal lgammal_r llogb llogbf "
     "llogbl llrint llrintf llrintl llround llroundf llroundl log log10 log10f log10l log1p log1pf "
     "log1pl log2 log2f log2l logb logbf logbl logf logl lrint lrintf lrintl lround lroundf lroundl "
     "math_errhandling modf modff modfl nan nanf nanl nearbyint nearbyintf nearbyintl nextafter "
     "nextafterf nextafterl nextdown nextdownf nextdownl nexttoward nexttowardf nexttowardl nextup "
     "nextupf nextupl pow powf powl remainder remainderf remainderl remquo remquof remquol rint rintf "
     "rintl round roundeven roundevenf roundevenl roundf roundl scalb scalbf scalbl scalbln scalblnf "
     "scalblnl scalbn scalbnf scalbnl setpayload setpayloadf setpayloadl setpayloadsig setpayloadsigf "
     "setpayloadsigl signbit signgam significand significandf significandl sin sincosf sincosl sinf "
     "sinh sinhf sinhl sinl sqrt sqrtf sqrtl tan tanf tanh tanhf tanhl tanl tgamma tgammaf tgammal "
     "totalorder totalorderf totalorderl totalordermag totalordermagf totalordermagl trunc truncf "
     "truncl ufromfp ufromfpf ufromfpl ufromfpx ufromfpxf ufromfpxl y0 y0f y0l y1 y1f y1l yn ynf ynl "},
    {"<errno.h>",
     " E2BIG EACCES EADDRINUSE EADDRNOTAVAIL EADV EAFNOSUPPORT EAGAIN EALREADY EBADE EBADF EBADFD "
     "EBADMSG EBADR EBADRQC EBADSLT EBFONT EBUSY ECANCELED ECHILD ECHRNG ECOMM ECONNABORTED "
     "ECONNREFUSED ECONNRESET EDEADLK EDEADLOCK EDESTADDRREQ EDOM EDOTDOT EDQUOT EEXIST EFAULT EFBIG "
     "EHOSTDOWN EHOSTUNREACH EHWPOISON EIDRM EILSEQ EINPROGRESS EINTR EINVAL EIO EISCONN EISDIR EISNAM "
     "EKEYEXPIRED EKEYREJECTED EKEYREVOKED EL2HLT EL2NSYNC EL3HLT EL3RST ELIBACC ELIBBAD ELIBEXEC "
     "ELIBMAX ELIBSCN ELNRNG ELOOP EMEDIUMTYPE EMFILE EMLINK EMSGSIZE EMULTIHOP ENAMETOOLONG ENAVAIL "
     "ENETDOWN ENETRESET ENETUNREACH ENFILE ENOANO ENOBUFS ENOCSI ENODATA ENODEV ENOENT ENOEXEC ENOKEY "
     "ENOLCK ENOLINK ENOMEDIUM ENOMEM ENOMSG ENONET ENOPKG ENOPROTOOPT ENOSPC ENOSR ENOSTR ENOSYS "
     "ENOTBLK ENOTCONN ENOTDIR ENOTEMPTY ENOTNAM ENOTRECOVERABLE ENOTSOCK ENOTSUP ENOTTY ENOTUNIQ "
     "ENXIO EOPNOTSUPP EOVERFLOW EOWNERDEAD EPERM EPFNOSUPPORT EPIPE EPROTO EPROTONOSUPPORT EPROTOTYPE "
     "ERANGE EREMCHG EREMOTE EREMOTEIO ERESTART ERFKILL EROFS ESHUTDOWN ESOCKTNOSUPPORT ESPIPE ESRCH "
     "ESRMNT ESTALE ESTRPIPE ETIME ETIMEDOUT ETOOMANYREFS ETXTBSY EUCLEAN EUNATCH EUSERS EWOULDBLOCK "
     "EXDEV EXFULL errno error_t program_invocation_name program_invocation_short_name "},
    {"<signal.h>",
     " FP_XSTATE_MAGIC1 FP_XSTATE_MAGIC2 FP_XSTATE_MAGIC2_SIZE MINSIGSTKSZ NGREG NSIG SA_INTERRUPT "
     "SA_NOCLDSTOP SA_NOCLDWAIT SA_NODEFER SA_NOMASK SA_ONESHOT SA_ONSTACK SA_RESETHAND SA_RESTART "
     "SA_SIGINFO SA_STACK SIGABRT SIGALRM SIGBUS SIGCHLD SIGCLD SIGCONT SIGEV_NONE SIGEV_SIGNAL "
     "SIGEV_THREAD SIGEV_THREAD_ID SIGFPE SIGHUP SIGILL SIGINT SIGIO SIGIOT SIGKILL SIGPIPE SIGPOLL "
     "SIGPROF SIGPWR SIGQUIT SIGRTMAX SIGRTMIN SIGSEGV SIGSTKFLT SIGSTKSZ SIGSTOP SIGSYS SIGTERM "
     "SIGTRAP SIGTSTP SIGTTIN SIGTTOU SIGURG SIGUSR1 SIGUSR2 SIGVTALRM SIGWINCH SIGXCPU SIGXFSZ "
     "SIG_BLOCK SIG_DFL SIG_ERR SIG_HOLD SIG_IGN SIG_SETMASK SIG_UNBLOCK SS_DISABLE SS_ONSTACK "
     "fpregset_t greg_t gregset_t gsignal kill killpg mcontext_t psiginfo psignal pthread_kill "
     "pthread_sigmask pthread_sigqueue raise sa_handler sa_sigaction si_addr si_addr_lsb si_arch "
     "si_band si_call_addr si_fd si_int si_lower si_overrun si_pid si_pkey si_ptr si_status si_stime "
     "si_syscall si_timerid si_uid si_upper si_utime si_value sig_atomic_t sig_t sigaction sigaddset "
     "sigaltstack sigandset sigblock sigcontext sigdelset sigemptyset sigev_notify_attributes "
     "sigev_notify_function sigevent_t sigfillset siggetmask sighandler_t sighold sigignore siginfo_t "
     "siginterrupt sigisemptyset sigismember sigmask signal sigorset sigpause sigpending sigprocmask "
     "sigqueue sigrelse sigreturn sigset sigsetmask sigstack sigsuspend sigtimedwait sigval sigval_t "
     "sigwait sigwaitinfo ssignal stack_t sysv_signal tgkill ucontext_t "},
    {"<stddef.h>", " nullptr_t unreachable max_align_t offsetof ptrdiff_t "},
    {"<stdint.h>",
     " INT16_C INT16_MAX INT16_MIN INT16_WIDTH INT32_C INT32_MAX INT32_MIN INT32_WIDTH INT64_C "
     "INT64_MAX INT64_MIN INT64_WIDTH INT8_C INT8_MAX INT8_MIN INT8_WIDTH INTMAX_C INTMAX_MAX "
     "INTMAX_MIN INTMAX_WIDTH INTPTR_MAX INTPTR_MIN INTPTR_WIDTH INT_FAST16_MAX INT_FAST16_MIN "
     "INT_FAST16_WIDTH INT_FAST32_MAX INT_FAST32_MIN INT_FAST32_WIDTH INT_FAST64_MAX INT_FAST64_MIN "
     "INT_FAST64_WIDTH INT_FAST8_MAX INT_FAST8_MIN INT_FAST8_WIDTH INT_LEAST16_MAX INT_LEAST16_MIN "
     "INT_LEAST16_WIDTH INT_LEAST32_MAX INT_LEAST32_MIN INT_LEAST32_WIDTH INT_LEAST64_MAX "
     "INT_LEAST64_MIN INT_LEAST64_WIDTH INT_LEAST8_MAX INT_LEAST8_MIN INT_LEAST8_WIDTH PTRDIFF_MAX "
     "PTRDIFF_MIN PTRDIFF_WIDTH SIG_ATOMIC_MAX SIG_ATOMIC_MIN SIG_ATOMIC_WIDTH SIZE_MAX SIZE_WIDTH "
     "UINT16_C UINT16_MAX UINT16_WIDTH UINT32_C UINT32_MAX UINT32_WIDTH UINT64_C UINT64_MAX "
     "UINT64_WIDTH UINT8_C UINT8_MAX UINT8_WIDTH UINTMAX_C UINTMAX_MAX UINTMAX_WIDTH UINTPTR_MAX "
     "UINTPTR_WIDTH UINT_FAST16_MAX UINT_FAST16_WIDTH UINT_FAST32_MAX UINT_FAST32_WIDTH "
     "UINT_FAST64_MAX UINT_FAST64_WIDTH UINT_FAST8_MAX UINT_FAST8_WIDTH UINT_LEAST16_MAX "
     "UINT_LEAST16_WIDTH UINT_LEAST32_MAX UINT_LEAST32_WIDTH UINT_LEAST64_MAX UINT_LEAST64_WIDTH "
     "UINT_LEAST8_MAX UINT_LEAST8_WIDTH WCHAR_MAX WCHAR_MIN WCHAR_WIDTH WINT_MAX WINT_MIN WINT_WIDTH "
     "int16_t int32_t int64_t int8_t int_fast16_t int_fast32_t int_fast64_t int_fast8_t int_least16_t "
     "int_least32_t int_least64_t int_least8_t intmax_t intptr_t uint16_t uint32_t uint64_t uint8_t "
     "uint_fast16_t uint_fast32_t uint_fast64_t uint_fast8_t uint_least16_t uint_least32_t "
     "uint_least64_t uint_least8_t uintmax_t uintptr_t "},
    {"<time.h>",
     " CLOCKS_PER_SEC TIME_UTC asctime asctime_r clock clock_adjtime clock_getcpuclockid clock_getres "
     "clock_gettime clock_nanosleep clock_settime clock_t clockid_t ctime ctime_r daylight difftime "
     "dysize getdate getdate_err getdate_r gmtime gmtime_r itimerspec localtime localtime_r mktime "
     "nanosleep pid_t sigevent strftime strftime_l strptime strptime_l time time_t timegm timelocal "
     "timer_create timer_delete timer_getoverrun timer_gettime timer_settime timer_t timespec "
     "timespec_get timespec_getres timex timezone tm tzname tzset "},
    {"<limits.h>",
     " AIO_PRIO_DELTA_MAX BOOL_MAX BOOL_WIDTH CHARCLASS_NAME_MAX CHAR_BIT CHAR_MAX CHAR_MIN CHAR_WIDTH "
     "COLL_WEIGHTS_MAX DELAYTIMER_MAX EXPR_NEST_MAX HOST_NAME_MAX INT_MAX INT_MIN INT_WIDTH IOV_MAX "
     "LINE_MAX LLONG_MAX LLONG_MIN LLONG_WIDTH LOGIN_NAME_MAX LONG_BIT LONG_LONG_MAX LONG_LONG_MIN "
     "LONG_MAX LONG_MIN LONG_WIDTH MAX_CANON MAX_INPUT MB_LEN_MAX NAME_MAX NGROUPS_MAX NL_ARGMAX "
     "NL_LANGMAX NL_MSGMAX NL_NMAX NL_SETMAX NL_TEXTMAX NZERO PATH_MAX PIPE_BUF RE_DUP_MAX RTSIG_MAX "
     "SCHAR_MAX SCHAR_MIN SCHAR_WIDTH SEM_VALUE_MAX SHRT_MAX SHRT_MIN SHRT_WIDTH SSIZE_MAX "
     "TTY_NAME_MAX UCHAR_MAX UCHAR_WIDTH UINT_MAX UINT_WIDTH ULLONG_MAX ULLONG_WIDTH ULONG_LONG_MAX "
     "ULONG_MAX ULONG_WIDTH USHRT_MAX USHRT_WIDTH WORD_BIT "},
    {"<float.h>",
     " DBL_DECIMAL_DIG DBL_DIG DBL_EPSILON DBL_HAS_SUBNORM DBL_MANT_DIG DBL_MAX DBL_MAX_10_EXP "
     "DBL_MAX_EXP DBL_MIN DBL_MIN_10_EXP DBL_MIN_EXP DBL_TRUE_MIN DECIMAL_DIG FLT_DECIMAL_DIG FLT_DIG "
     "FLT_EPSILON FLT_EVAL_METHOD FLT_HAS_SUBNORM FLT_MANT_DIG FLT_MAX FLT_MAX_10_EXP FLT_MAX_EXP "
     "FLT_MIN FLT_MIN_10_EXP FLT_MIN_EXP FLT_RADIX FLT_ROUNDS FLT_TRUE_MIN LDBL_DECIMAL_DIG LDBL_DIG "
     "LDBL_EPSILON LDBL_HAS_SUBNORM LDBL_MANT_DIG LDBL_MAX LDBL_MAX_10_EXP LDBL_MAX_EXP LDBL_MIN "
     "LDBL_MIN_10_EXP LDBL_MIN_EXP LDBL_TRUE_MIN "},
    {"<ctype.h>",
     " isalnum isalnum_l isalpha isalpha_l isascii isascii_l isblank isblank_l iscntrl iscntrl_l "
     "isctype isdigit isdigit_l isgraph isgraph_l islower islower_l isprint isprint_l ispunct "
     "ispunct_l isspace isspace_l isupper isupper_l isxdigit isxdigit_l toascii toascii_l tolower "
     "tolower_l toupper toupper_l "},
    {"<assert.h>", " assert "},
    {"<stdarg.h>", " va_arg va_copy va_end va_list va_start "},
    {"<locale.h>",
     " LC_ADDRESS LC_ADDRESS_MASK LC_ALL LC_ALL_MASK LC_COLLATE LC_COLLATE_MASK LC_CTYPE LC_CTYPE_MASK "
     "LC_GLOBAL_LOCALE LC_IDENTIFICATION LC_IDENTIFICATION_MASK LC_MEASUREMENT LC_MEASUREMENT_MASK "
     "LC_MESSAGES LC_MESSAGES_MASK LC_MONETARY LC_MONETARY_MASK LC_NAME LC_NAME_MASK LC_NUMERIC "
     "LC_NUMERIC_MASK LC_PAPER LC_PAPER_MASK LC_TELEPHONE LC_TELEPHONE_MASK LC_TIME LC_TIME_MASK "
     "duplocale freelocale lconv localeconv newlocale setlocale uselocale "},
    {"<setjmp.h>", " jmp_buf longjmp setjmp sigjmp_buf siglongjmp sigsetjmp "},
    {"<complex.h>",
     " CMPLX CMPLXF CMPLXL I cabs cabsf cabsl cacos cacosf cacosh cacoshf cacoshl cacosl carg cargf "
     "cargl casin casinf casinh casinhf casinhl casinl catan catanf catanh catanhf catanhl catanl ccos "
     "ccosf ccosh ccoshf ccoshl ccosl cexp cexpf cexpl cimag cimagf cimagl clog clogf clogl complex "
     "conj conjf conjl cpow cpowf cpowl cproj cprojf cprojl creal crealf creall csin csinf csinh "
     "csinhf csinhl csinl csqrt csqrtf csqrtl ctan ctanf ctanh ctanhf ctanhl ctanl "},
    {"<fenv.h>",
     " FE_ALL_EXCEPT FE_DFL_ENV FE_DFL_MODE FE_DIVBYZERO FE_DOWNWARD FE_INEXACT FE_INVALID "
     "FE_NOMASK_ENV FE_OVERFLOW FE_TONEAREST FE_TOWARDZERO FE_UNDERFLOW FE_UPWARD feclearexcept "
     "fedisableexcept feenableexcept fegetenv fegetexcept fegetexceptflag fegetmode fegetround "
     "feholdexcept femode_t fenv_t feraiseexcept fesetenv fesetexcept fesetexceptflag fesetmode "
     "fesetround fetestexcept fetestexceptflag feupdateenv fexcept_t "},
    {"<inttypes.h>",
     " PRIX16 PRIX32 PRIX64 PRIX8 PRIXFAST16 PRIXFAST32 PRIXFAST64 PRIXFAST8 PRIXLEAST16 PRIXLEAST32 "
     "PRIXLEAST64 PRIXLEAST8 PRIXMAX PRIXPTR PRId16 PRId32 PRId64 PRId8 PRIdFAST16 PRIdFAST32 "
     "PRIdFAST64 PRIdFAST8 PRIdLEAST16 PRIdLEAST32 PRIdLEAST64 PRIdLEAST8 PRIdMAX PRIdPTR PRIi16 "
     "PRIi32 PRIi64 PRIi8 PRIiFAST16 PRIiFAST32 PRIiFAST64 PRIiFAST8 PRIiLEAST16 PRIiLEAST32 "
     "PRIiLEAST64 PRIiLEAST8 PRIiMAX PRIiPTR PRIo16 PRIo32 PRIo64 PRIo8 PRIoFAST16 PRIoFAST32 "
     "PRIoFAST64 PRIoFAST8 PRIoLEAST16 PRIoLEAST32 PRIoLEAST64 PRIoLEAST8 PRIoMAX PRIoPTR PRIu16 "
     "PRIu32 PRIu64 PRIu8 PRIuFAST16 PRIuFAST32 PRIuFAST64 PRIuFAST8 PRIuLEAST16 PRIuLEAST32 "
     "PRIuLEAST64 PRIuLEAST8 PRIuMAX PRIuPTR PRIx16 PRIx32 PRIx64 PRIx8 PRIxFAST16 PRIxFAST32 "
     "PRIxFAST64 PRIxFAST8 PRIxLEAST16 PRIxLEAST32 PRIxLEAST64 PRIxLEAST8 PRIxMAX PRIxPTR SCNd16 "
     "SCNd32 SCNd64 SCNd8 SCNdFAST16 SCNdFAST32 SCNdFAST64 SCNdFAST8 SCNdLEAST16 SCNdLEAST32 "
     "SCNdLEAST64 SCNdLEAST8 SCNdMAX SCNdPTR SCNi16 SCNi32 SCNi64 SCNi8 SCNiFAST16 SCNiFAST32 "
     "SCNiFAST64 SCNiFAST8 SCNiLEAST16 SCNiLEAST32 SCNiLEAST64 SCNiLEAST8 SCNiMAX SCNiPTR SCNo16 "
     "SCNo32 SCNo64 SCNo8 SCNoFAST16 SCNoFAST32 SCNoFAST64 SCNoFAST8 SCNoLEAST16 SCNoLEAST32 "
     "SCNoLEAST64 SCNoLEAST8 SCNoMAX SCNoPTR SCNu16 SCNu32 SCNu64 SCNu8 SCNuFAST16 SCNuFAST32 "
     "SCNuFAST64 SCNuFAST8 SCNuLEAST16 SCNuLEAST32 SCNuLEAST64 SCNuLEAST8 SCNuMAX SCNuPTR SCNx16 "
     "SCNx32 SCNx64 SCNx8 SCNxFAST16 SCNxFAST32 SCNxFAST64 SCNxFAST8 SCNxLEAST16 SCNxLEAST32 "
     "SCNxLEAST64 SCNxLEAST8 SCNxMAX SCNxPTR imaxabs imaxdiv imaxdiv_t strtoimax strtoumax wcstoimax "
     "wcstoumax "},
    {"<stdatomic.h>",
     " ATOMIC_BOOL_LOCK_FREE ATOMIC_CHAR16_T_LOCK_FREE ATOMIC_CHAR32_T_LOCK_FREE ATOMIC_CHAR_LOCK_FREE "
     "ATOMIC_FLAG_INIT ATOMIC_INT_LOCK_FREE ATOMIC_LLONG_LOCK_FREE ATOMIC_LONG_LOCK_FREE "
     "ATOMIC_POINTER_LOCK_FREE ATOMIC_SHORT_LOCK_FREE ATOMIC_VAR_INIT ATOMIC_WCHAR_T_LOCK_FREE "
     "atomic_bool atomic_char atomic_char16_t atomic_char32_t atomic_compare_exchange_strong "
     "atomic_compare_exchange_strong_explicit atomic_compare_exchange_weak "
     "atomic_compare_exchange_weak_explicit atomic_exchange atomic_exchange_explicit atomic_fetch_add "
     "atomic_fetch_add_explicit atomic_fetch_and atomic_fetch_and_explicit atomic_fetch_or "
     "atomic_fetch_or_explicit atomic_fetch_sub atomic_fetch_sub_explicit atomic_fetch_xor "
     "atomic_fetch_xor_explicit atomic_flag atomic_flag_clear atomic_flag_clear_explicit "
     "atomic_flag_test_and_set atomic_flag_test_and_set_explicit atomic_init atomic_int "
     "atomic_int_fast16_t atomic_int_fast32_t atomic_int_fast64_t atomic_int_fast8_t "
     "atomic_int_least16_t atomic_int_least32_t atomic_int_least64_t atomic_int_least8_t "
     "atomic_intmax_t atomic_intptr_t atomic_is_lock_free atomic_llong atomic_load "
     "atomic_load_explicit atomic_long atomic_ptrdiff_t atomic_schar atomic_short atomic_signal_fence "
     "atomic_size_t atomic_store atomic_store_explicit atomic_thread_fence atomic_uchar atomic_uint "
     "atomic_uint_fast16_t atomic_uint_fast32_t atomic_uint_fast64_t atomic_uint_fast8_t "
     "atomic_uint_least16_t atomic_uint_least32_t atomic_uint_least64_t atomic_uint_least8_t "
     "atomic_uintmax_t atomic_uintptr_t atomic_ullong atomic_ulong atomic_ushort atomic_wchar_t "
     "kill_dependency memory_order memory_order_acq_rel memory_order_acquire memory_order_consume "
     "memory_order_relaxed memory_order_release memory_order_seq_cst "},
    {"<stdnoreturn.h>", " noreturn "},
    {"<threads.h>",
     " ONCE_FLAG_INIT TSS_DTOR_ITERATIONS call_once cnd_broadcast cnd_destroy cnd_init cnd_signal cnd_t "
     "cnd_timedwait cnd_wait mtx_destroy mtx_init mtx_lock mtx_plain mtx_recursive mtx_t mtx_timed "
     "mtx_timedlock mtx_trylock mtx_unlock once_flag thrd_busy thrd_create thrd_current thrd_detach "
     "thrd_equal thrd_error thrd_exit thrd_join thrd_nomem thrd_sleep thrd_start_t thrd_success thrd_t "
     "thrd_timedout thrd_yield tss_create tss_delete tss_dtor_t tss_get tss_set tss_t "},
    {"<uchar.h>", " c8rtomb mbrtoc8 c16rtomb c32rtomb mbrtoc16 mbrtoc32 mbstate_t "},
    {"<wchar.h>",
     " WEOF btowc fgetwc fgetwc_unlocked fgetws fgetws_unlocked fputwc fputwc_unlocked fputws "
     "fputws_unlocked fwide fwprintf fwscanf getwc getwc_unlocked getwchar getwchar_unlocked mbrlen "
     "mbrtowc mbsinit mbsnrtowcs mbsrtowcs open_wmemstream putwc putwc_unlocked putwchar "
     "putwchar_unlocked swprintf swscanf ungetwc vfwprintf vfwscanf vswprintf vswscanf vwprintf "
     "vwscanf wcpcpy wcpncpy wcrtomb wcscasecmp wcscasecmp_l wcscat wcschr wcschrnul wcscmp wcscoll "
     "wcscoll_l wcscpy wcscspn wcsdup wcsftime wcsftime_l wcslen wcsncasecmp wcsncasecmp_l wcsncat "
     "wcsncmp wcsncpy wcsnlen wcsnrtombs wcspbrk wcsrchr wcsrtombs wcsspn wcsstr wcstod wcstod_l "
     "wcstof wcstof128_l wcstof32_l wcstof32x_l wcstof64_l wcstof64x_l wcstof_l wcstok wcstol wcstol_l "
     "wcstold wcstold_l wcstoll wcstoll_l wcstoq wcstoul wcstoul_l wcstoull wcstoull_l wcstouq wcswcs "
     "wcswidth wcsxfrm wcsxfrm_l wctob wcwidth wint_t wmemchr wmemcmp wmemcpy wmemmove wmempcpy "
     "wmemset wprintf wscanf "},
    {"<wctype.h>",
     " iswalnum iswalnum_l iswalpha iswalpha_l iswblank iswblank_l iswcntrl iswcntrl_l iswctype "
     "iswctype_l iswdigit iswdigit_l iswgraph iswgraph_l iswlower iswlower_l iswprint iswprint_l "
     "iswpunct iswpunct_l iswspace iswspace_l iswupper iswupper_l iswxdigit iswxdigit_l towctrans "
     "towctrans_l towlower towlower_l towupper towupper_l wctrans wctrans_l wctrans_t wctype wctype_l "
     "wctype_t "},
    {"<dlfcn.h>",
     " DL_CALL_FCT Dl_info Dl_serinfo Dl_serpath Lmid_t RTLD_BINDING_MASK RTLD_DEEPBIND RTLD_DEFAULT "
     "RTLD_DI_CONFIGADDR RTLD_DI_LINKMAP RTLD_DI_LMID RTLD_DI_MAX RTLD_DI_ORIGIN RTLD_DI_PHDR "
     "RTLD_DI_PROFILENAME RTLD_DI_PROFILEOUT RTLD_DI_SERINFO RTLD_DI_SERINFOSIZE RTLD_DI_TLS_DATA "
     "RTLD_DI_TLS_MODID RTLD_DL_LINKMAP RTLD_DL_SYMENT RTLD_GLOBAL RTLD_LAZY RTLD_LOCAL RTLD_NEXT "
     "RTLD_NODELETE RTLD_NOLOAD RTLD_NOW dl_find_object dladdr dladdr1 dlclose dlerror dlinfo dlmopen "
     "dlopen dlsym dlvsym "},
    {"<fcntl.h>",
     " FAPPEND FASYNC FD_CLOEXEC FFSYNC FNDELAY FNONBLOCK F_ADD_SEALS F_DUPFD F_DUPFD_CLOEXEC F_EXLCK "
     "F_GETFD F_GETFL F_GETLEASE F_GETLK F_GETLK64 F_GETOWN F_GETOWN_EX F_GETPIPE_SZ F_GETSIG "
     "F_GET_FILE_RW_HINT F_GET_RW_HINT F_GET_SEALS F_LOCK F_NOTIFY F_OFD_GETLK F_OFD_SETLK "
     "F_OFD_SETLKW F_OK F_OWNER_GID F_OWNER_PGRP F_OWNER_PID F_OWNER_TID F_RDLCK F_SEAL_FUTURE_WRITE "
     "F_SEAL_GROW F_SEAL_SEAL F_SEAL_SHRINK F_SEAL_WRITE F_SETFD F_SETFL F_SETLEASE F_SETLK F_SETLK64 "
     "F_SETLKW F_SETLKW64 F_SETOWN F_SETOWN_EX F_SETPIPE_SZ F_SETSIG F_SET_FILE_RW_HINT F_SET_RW_HINT "
     "F_SHLCK F_TEST F_TLOCK F_ULOCK F_UNLCK F_WRLCK LOCK_EX LOCK_MAND LOCK_NB LOCK_READ LOCK_RW "
     "LOCK_SH LOCK_UN LOCK_WRITE MAX_HANDLE_SZ O_ACCMODE O_APPEND O_ASYNC O_CLOEXEC O_CREAT O_DIRECT "
     "O_DIRECTORY O_DSYNC O_EXCL O_FSYNC O_LARGEFILE O_NDELAY O_NOATIME O_NOCTTY O_NOFOLLOW O_NONBLOCK "
     "O_PATH O_RDONLY O_RDWR O_RSYNC O_SYNC O_TMPFILE O_TRUNC O_WRONLY R_OK S_IFBLK S_IFCHR S_IFDIR "
     "S_IFIFO S_IFLNK S_IFMT S_IFREG S_IFSOCK S_IRGRP S_IROTH S_IRUSR S_IRWXG S_IRWXO S_IRWXU S_ISGID "
     "S_ISUID S_ISVTX S_IWGRP S_IWOTH S_IWUSR S_IXGRP S_IXOTH S_IXUSR UTIME_NOW UTIME_OMIT W_OK X_OK "
     "creat creat64 f_owner_ex fallocate fallocate64 fcntl fcntl64 file_handle flock flock64 iovec "
     "lockf name_to_handle_at open open64 open_by_handle_at openat openat64 posix_fadvise "
     "posix_fadvise64 posix_fallocate posix_fallocate64 readahead splice st_atime st_ctime st_mtime "
     "stat stat64 sync_file_range tee vmsplice "},
    {"<pthread.h>",
     " pthread_atfork pthread_attr_destroy pthread_attr_getaffinity_np pthread_attr_getdetachstate "
     "pthread_attr_getguardsize pthread_attr_getinheritsched pthread_attr_getschedparam "
     "pthread_attr_getschedpolicy pthread_attr_getscope pthread_attr_getsigmask_np "
     "pthread_attr_getstack pthread_attr_getstackaddr pthread_attr_getstacksize pthread_attr_init "
     "pthread_attr_setaffinity_np pthread_attr_setdetachstate pthread_attr_setguardsize "
     "pthread_attr_setinheritsched pthread_attr_setschedparam pthread_attr_setschedpolicy "
     "pthread_attr_setscope pthread_attr_setsigmask_np pthread_attr_setstack pthread_attr_setstackaddr "
     "pthread_attr_setstacksize pthread_barrier_destroy pthread_barrier_init pthread_barrier_wait "
     "pthread_barrierattr_destroy pthread_barrierattr_getpshared pthread_barrierattr_init "
     "pthread_barrierattr_setpshared pthread_cancel pthread_cleanup_pop pthread_cleanup_pop_restore_np "
     "pthread_cleanup_push pthread_cleanup_push_defer_np pthread_clockjoin_np pthread_cond_broadcast "
     "pthread_cond_clockwait pthread_cond_destroy pthread_cond_init pthread_cond_signal "
     "pthread_cond_timedwait pthread_cond_wait pthread_condattr_destroy pthread_condattr_getclock "
     "pthread_condattr_getpshared pthread_condattr_init pthread_condattr_setclock "
     "pthread_condattr_setpshared pthread_create pthread_detach pthread_equal pthread_exit "
     "pthread_getaffinity_np pthread_getattr_default_np pthread_getattr_np pthread_getconcurrency "
     "pthread_getcpuclockid pthread_getname_np pthread_getschedparam pthread_getspecific pthread_join "
     "pthread_key_create pthread_key_delete pthread_mutex_clocklock pthread_mutex_consistent "
     "pthread_mutex_consistent_np pthread_mutex_destroy pthread_mutex_getprioceiling "
     "pthread_mutex_init pthread_mutex_lock pthread_mutex_setprioceiling pthread_mutex_timedlock "
     "pthread_mutex_trylock pthread_mutex_unlock pthread_mutexattr_destroy "
     "pthread_mutexattr_getprioceiling pthread_mutexattr_getprotocol pthread_mutexattr_getpshared "
     "pthread_mutexattr_getrobust pthread_mutexattr_getrobust_np pthread_mutexattr_gettype "
     "pthread_mutexattr_init pthread_mutexattr_setprioceiling pthread_mutexattr_setprotocol "
     "pthread_mutexattr_setpshared pthread_mutexattr_setrobust pthread_mutexattr_setrobust_np "
     "pthread_mutexattr_settype pthread_once pthread_rwlock_clockrdlock pthread_rwlock_clockwrlock "
     "pthread_rwlock_destroy pthread_rwlock_init pthread_rwlock_rdlock pthread_rwlock_timedrdlock "
     "pthread_rwlock_timedwrlock pthread_rwlock_tryrdlock pthread_rwlock_trywrlock "
     "pthread_rwlock_unlock pthread_rwlock_wrlock pthread_rwlockattr_destroy "
     "pthread_rwlockattr_getkind_np pthread_rwlockattr_getpshared pthread_rwlockattr_init "
     "pthread_rwlockattr_setkind_np pthread_rwlockattr_setpshared pthread_self pthread_setaffinity_np "
     "pthread_setattr_default_np pthread_setcancelstate pthread_setcanceltype pthread_setconcurrency "
     "pthread_setname_np pthread_setschedparam pthread_setschedprio pthread_setspecific "
     "pthread_spin_destroy pthread_spin_init pthread_spin_lock pthread_spin_trylock "
     "pthread_spin_unlock pthread_testcancel pthread_timedjoin_np pthread_tryjoin_np pthread_yield "},
    {"<sched.h>",
     " CSIGNAL clone cpu_set_t getcpu sched_get_priority_max sched_get_priority_min sched_getaffinity "
     "sched_getcpu sched_getparam sched_getscheduler sched_param sched_priority sched_rr_get_interval "
     "sched_setaffinity sched_setparam sched_setscheduler sched_yield setns unshare "},
    {"<semaphore.h>",
     " SEM_FAILED sem_clockwait sem_close sem_destroy sem_getvalue sem_init sem_open sem_post sem_t "
     "sem_timedwait sem_trywait sem_unlink sem_wait "},
    {"<unistd.h>",
     " CLOSE_RANGE_CLOEXEC CLOSE_RANGE_UNSHARE L_INCR L_SET L_XTND STDERR_FILENO STDIN_FILENO "
     "STDOUT_FILENO TEMP_FAILURE_RETRY access acct alarm brk chdir chown chroot close close_range "
     "closefrom confstr copy_file_range crypt daemon dup dup2 dup3 eaccess endusershell environ "
     "euidaccess execl execle execlp execv execve execveat execvp execvpe faccessat fchdir fchown "
     "fchownat fdatasync fexecve fork fpathconf fsync ftruncate ftruncate64 get_current_dir_name "
     "getcwd getdomainname getdtablesize getegid getentropy geteuid getgid getgroups gethostid "
     "gethostname getlogin getlogin_r getopt getpagesize getpass getpgid getpgrp getpid getppid "
     "getresgid getresuid getsid gettid getuid getusershell getwd group_member isatty lchown link "
     "linkat lseek lseek64 nice optarg opterr optind optopt pathconf pause pipe pipe2 pread pread64 "
     "profil pwrite pwrite64 read readlink readlinkat revoke rmdir sbrk setdomainname setegid seteuid "
     "setgid sethostid sethostname setlogin setpgid setpgrp setregid setresgid setresuid setreuid "
     "setsid setuid setusershell sleep socklen_t swab symlink symlinkat sync syncfs syscall sysconf "
     "tcgetpgrp tcsetpgrp truncate truncate64 ttyname ttyname_r ttyslot ualarm unlink unlinkat "
     "useconds_t usleep vfork vhangup write "},
    {"<sys/time.h>",
     " ITIMER_PROF ITIMER_REAL ITIMER_VIRTUAL adjtime futimes futimesat getitimer gettimeofday itimerval "
     "lutimes "
     "setitimer settimeofday timeradd timerclear timercmp timerisset timersub timeval timezone utimes "},
    {"<libintl.h>",
     " bind_textdomain_codeset bindtextdomain dcgettext dcngettext dgettext dngettext gettext ngettext "
     "textdomain "},
};

bool among(std::string_view name, std::string_view words) {
  return words.find(" " + std::string(name) + " ") != std::string_view::npos;
}

/// "acos" of "acosf32x": functions and constants of the C library for one floating type.
std::string_view without_width(std::string_view name) {
  for (const std::string_view width : {"f128", "f32", "f32x", "f64", "f64x"}) {
    if (name.ends_with(width)) return name.substr(0, name.size() - width.size());
  }
  return name;
}

}  // namespace

std::string_view library_header_of(std::string_view name) {
  for (const LibraryNames& row : rows) {
    if (among(name, row.names) || among(without_width(name), row.names)) return row.header;
  }
  return {};
}

}  // namespace weft::cuda
