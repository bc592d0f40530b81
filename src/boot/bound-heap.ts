/**
 * Has V8 keep less for speed, for the rest of the process: the space for what is new does not grow,
 * and there is one compiler less. For what takes in one thing after another: each is garbage as soon
 * as it is dealt with, but with its defaults V8 lets a hundred megabytes come together. Measured on
 * an export of 100,000 messages: 93 MB in place of 164 at most, of which an empty run takes 64, for a
 * tenth to a fifth more CPU time.
 */
export function keepHeapSmall(): void {
  const { setFlagsFromString } = process.getBuiltinModule('node:v8')
  for (const flag of ['--semi-space-growth-factor=1', '--no-maglev', '--optimize-for-size']) {
    setFlagsFromString(flag)
  }
}
