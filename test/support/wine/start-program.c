/*
 * Starts a Windows program under Wine with a given environment, and returns its exit code.
 *
 *   start-program.exe [--console] [--interrupt FILE] [NAME=VALUE]... -- PROGRAM [ARGUMENT]...
 *
 * By default, stdin, stdout, and stderr of the program are anonymous pipes of Windows. libuv cannot use the
 * Unix pipes that Wine passes on. With --console, the program inherits the console.
 *
 * NAME=VALUE sets a variable, and NAME= removes it. env(1) cannot do this: Wine itself sets USERPROFILE,
 * APPDATA, TEMP, and others.
 *
 * With --interrupt, the program has a console without a window, and receives Ctrl-C as soon as FILE exists.
 */
#include <windows.h>
#include <stdio.h>
#include <wchar.h>

struct copy { HANDLE from, to; };

static void fail(const char *call) {
  fprintf(stderr, "start-program: %s: error %lu\n", call, GetLastError());
  ExitProcess(125);
}

/* Copies until the end of `from`. Closes `to`, so that its reader sees the end, too. */
static DWORD WINAPI copy_all(void *argument) {
  struct copy *copy = argument;
  char buffer[65536];
  DWORD count, written;
  while (ReadFile(copy->from, buffer, sizeof buffer, &count, NULL) && count > 0)
    if (!WriteFile(copy->to, buffer, count, &written, NULL)) break;
  CloseHandle(copy->from);
  CloseHandle(copy->to);
  return 0;
}

static HANDLE start_copy(HANDLE from, HANDLE to) {
  struct copy *copy = malloc(sizeof *copy);
  *copy = (struct copy){from, to};
  return CreateThread(NULL, 0, copy_all, copy, 0, NULL);
}

static void inherit(HANDLE handle) {
  if (!SetHandleInformation(handle, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT)) fail("SetHandleInformation");
}

/* The command line without its first word. */
static wchar_t *skip_word(wchar_t *line) {
  BOOL quoted = FALSE;
  for (; *line && (quoted || (*line != ' ' && *line != '\t')); line++) {
    if (*line == '\\' && (line[1] == '\\' || line[1] == '"')) line++;
    else if (*line == '"') quoted = !quoted;
  }
  while (*line == ' ' || *line == '\t') line++;
  return line;
}

/* SetConsoleCtrlHandler(NULL, TRUE) would make the program ignore Ctrl-C, too. */
static BOOL WINAPI ignore(DWORD event) {
  (void)event;
  return TRUE;
}

static DWORD WINAPI interrupt_later(void *file) {
  while (GetFileAttributesW(file) == INVALID_FILE_ATTRIBUTES) Sleep(20);
  if (!GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0)) fail("GenerateConsoleCtrlEvent");
  return 0;
}

int wmain(int count, wchar_t **words) {
  wchar_t *line = skip_word(GetCommandLineW()), *interrupt = NULL;
  BOOL console = FALSE;
  for (int index = 1; index < count && wcscmp(words[index], L"--"); index++, line = skip_word(line)) {
    wchar_t *equals = wcschr(words[index], '=');
    if (!wcscmp(words[index], L"--console")) console = TRUE;
    else if (!wcscmp(words[index], L"--interrupt")) {
      interrupt = words[++index];
      line = skip_word(line);
    } else if (equals) {
      *equals = 0;
      SetEnvironmentVariableW(words[index], equals[1] ? equals + 1 : NULL);
    }
  }
  line = skip_word(line);

  // A new console replaces the handles of this process.
  HANDLE in = GetStdHandle(STD_INPUT_HANDLE);
  HANDLE out = GetStdHandle(STD_OUTPUT_HANDLE), err = GetStdHandle(STD_ERROR_HANDLE);
  if (interrupt) FreeConsole();
  if (interrupt && !AllocConsole()) fail("AllocConsole");
  SetConsoleCtrlHandler(ignore, TRUE);

  STARTUPINFOW start = {.cb = sizeof start};
  HANDLE input, output, errors;
  if (!console) {
    start.dwFlags = STARTF_USESTDHANDLES;
    if (!CreatePipe(&start.hStdInput, &input, NULL, 65536)) fail("CreatePipe");
    if (!CreatePipe(&output, &start.hStdOutput, NULL, 65536)) fail("CreatePipe");
    if (!CreatePipe(&errors, &start.hStdError, NULL, 65536)) fail("CreatePipe");
    inherit(start.hStdInput);
    inherit(start.hStdOutput);
    inherit(start.hStdError);
  }
  PROCESS_INFORMATION process;
  if (!CreateProcessW(NULL, line, NULL, NULL, !console, 0, NULL, NULL, &start, &process)) fail("CreateProcess");
  if (interrupt) CreateThread(NULL, 0, interrupt_later, interrupt, 0, NULL);
  if (!console) {
    CloseHandle(start.hStdInput);
    CloseHandle(start.hStdOutput);
    CloseHandle(start.hStdError);
    start_copy(in, input);
    HANDLE copies[] = {start_copy(output, out), start_copy(errors, err)};
    WaitForMultipleObjects(2, copies, TRUE, INFINITE);
  }
  DWORD code;
  WaitForSingleObject(process.hProcess, INFINITE);
  GetExitCodeProcess(process.hProcess, &code);
  ExitProcess(code);
}
