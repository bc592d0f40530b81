/**
 * Sets V8 flags that bound heap growth while streaming, for the rest of the process: the space for new
 * objects does not grow, and the Maglev compiler is off. By default, V8 accumulates up to 100 MB of
 * garbage before it collects. For an export of 100,000 messages, the flags reduce the peak from 164 MB to
 * 93 MB (an empty run takes 64 MB) and cost 10 to 20% more CPU time.
 */
export function keepHeapSmall(): void {
  const { setFlagsFromString } = process.getBuiltinModule('node:v8')
  for (const flag of ['--semi-space-growth-factor=1', '--no-maglev', '--optimize-for-size']) {
    setFlagsFromString(flag)
  }
}
