/**
 * Has V8 collect its garbage rather than let the heap grow, for the rest of the process. A page is
 * garbage as soon as it is on disk, but with its defaults V8 finds that out after a hundred
 * megabytes. Measured on 100,000 messages: 104 instead of 174 MB at the same CPU time.
 */
export function keepHeapSmall(): void {
  const { setFlagsFromString } = process.getBuiltinModule('node:v8')
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--heap-growing-percent=10')
}
