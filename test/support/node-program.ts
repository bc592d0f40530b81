/**
 * The text of a program without an extension that runs the code with this Node.js. A shell starts it, because the
 * first line of a program cannot name a path with a space. Node.js reads the second line as a text and a comment.
 */
export function nodeProgram(code: string): string {
  return `#!/bin/sh\n":" //; exec '${process.execPath}' "$0" "$@"\n${code}\n`
}
