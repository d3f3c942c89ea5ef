"""Names of variables that mean something to isolation. Pure: these lists and nothing else."""

from __future__ import annotations

ESSENTIALS = (
    *("PATH", "HOME", "SHELL", "USER", "LOGNAME", "TMPDIR", "TEMP", "TMP", "LANG", "LC_ALL"),
    *("LC_CTYPE", "TERM", "COLORTERM", "FORCE_COLOR", "NO_COLOR", "CI", "NODE_OPTIONS"),
)
"""What an isolated command gets of its parent without being asked."""

GROUPS = {
    "@net": (
        *("HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY"),
        *("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"),
    ),
    "@tls": (
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CERT"),
        *("GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "NODE_EXTRA_CA_CERTS", "npm_config_cafile"),
        *("AWS_CA_BUNDLE", "CARGO_HTTP_CAINFO", "NIX_SSL_CERT_FILE", "DENO_CERT"),
        *("GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE"),
    ),
    "@ssh-agent": ("SSH_AUTH_SOCK", "SSH_AGENT_PID"),
    "@xdg": (
        *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"),
        *("XDG_RUNTIME_DIR", "XDG_CONFIG_DIRS", "XDG_DATA_DIRS"),
    ),
}
"""What an isolated command may miss most; ``--pass`` takes the name of a group for its names."""

LOADERS = (
    # The dynamic linker and the C library: glibc's unsecvars.h, ld.so(8), dyld(1).
    *("LD_*", "DYLD_*", "_RLD*", "LDR_*", "LIBPATH", "SHLIB_PATH", "GCONV_PATH", "GETCONF_DIR"),
    *("GLIBC_TUNABLES", "HOSTALIASES", "LOCALDOMAIN", "LOCPATH", "MALLOC_*", "NIS_PATH"),
    *("NLSPATH", "PATH_LOCALE", "RESOLV_*", "RES_OPTIONS", "TZDIR"),
    *("TERMCAP", "TERMINFO", "TERMINFO_DIRS", "TERMPATH"),
    # Shells: what they read, run or split by before the first line of a script; sudo's env.c.
    *("BASH_ENV", "BASH_FUNC_*", "BASH_LOADABLES_PATH", "BASH_XTRACEFD", "BASHOPTS", "SHELLOPTS"),
    *("ENV", "IFS", "PS4", "PROMPT_COMMAND", "CDPATH", "GLOBIGNORE", "FPATH", "ZDOTDIR"),
    *("NULLCMD", "READNULLCMD", "LESSOPEN", "LESSCLOSE"),
    # Interpreters: where code is looked up, and options that load some.
    *("PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "PYTHONINSPECT", "PYTHONUSERBASE"),
    *("PYTHONEXECUTABLE", "PYTHONBREAKPOINT", "PYTHONPLATLIBDIR", "PYTHONPYCACHEPREFIX"),
    *("PYTHONWARNINGS", "PYTHON_PRESITE", "PERL5OPT", "PERL5LIB", "PERL5DB", "PERLLIB"),
    *("PERLIO_DEBUG", "RUBYOPT", "RUBYLIB", "GEM_HOME", "GEM_PATH", "BUNDLE_GEMFILE"),
    *("NODE_PATH", "NODE_REPL_EXTERNAL_MODULE", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"),
    *("_JAVA_OPTIONS", "CLASSPATH", "LUA_*", "PHPRC", "PHP_INI_SCAN_DIR", "R_PROFILE*"),
    *("R_ENVIRON*", "TCLLIBPATH", "JULIA_LOAD_PATH", "ERL_*FLAGS", "ERL_LIBS"),
    *("DOTNET_STARTUP_HOOKS", "DOTNET_ADDITIONAL_DEPS", "CORECLR_*", "GUILE_LOAD_*"),
    *("CAML_LD_LIBRARY_PATH", "EMACSLOADPATH"),
    # Tools: what makes them run another program, or read another's rules.
    *("GIT_CONFIG*", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_PROXY_COMMAND", "GIT_ASKPASS"),
    *("GIT_EXTERNAL_DIFF", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "SSH_ASKPASS"),
    *("MAKEFLAGS", "GNUMAKEFLAGS", "MFLAGS", "MAKEFILES", "MAVEN_OPTS", "GRADLE_OPTS"),
    *("GCC_EXEC_PREFIX", "COMPILER_PATH", "RUSTC_*WRAPPER", "CARGO_BUILD_RUSTC*", "GOFLAGS"),
    *("OPENSSL_CONF", "OPENSSL_ENGINES", "OPENSSL_MODULES", "GTK_MODULES", "GIO_EXTRA_MODULES"),
    "QT_PLUGIN_PATH",
)
"""Patterns of names through which code, or a rule for it, gets into a command that nobody wrote
there. Such a variable comes from the parent only if it is named exactly."""
