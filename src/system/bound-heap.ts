/**
 * Sets V8 flags that bound heap growth while streaming, for the rest of the process: the space for
 * new objects does not grow, and one compiler is off. With its defaults V8 lets a hundred megabytes of
 * garbage come together before it collects any. Measured on an export of 100,000 messages: at most
 * 93 MB in place of 164, of which an empty run takes 64, for a tenth to a fifth more CPU time.
 */
export function keepHeapSmall(): void {
  const { setFlagsFromString } = process.getBuiltinModule('node:v8')
  for (const flag of ['--semi-space-growth-factor=1', '--no-maglev', '--optimize-for-size']) {
    setFlagsFromString(flag)
  }
}
