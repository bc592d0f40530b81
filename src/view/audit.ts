import { leavesOf, textOf, type View } from './view.ts'

/** Entries of the audit log. */
export const auditView: View = {
  layout: 'records',
  emptyText: 'No matching entries.',
  columns: [
    { path: 'at', time: true },
    { path: 'actor' },
    { path: 'action' },
    { path: 'target', whole: true },
    { path: 'change' },
    { path: 'key_id', secondary: true },
    { path: 'request_id', secondary: true },
    { path: 'before', open: true, hidden: true },
    { path: 'after', open: true, hidden: true },
  ],
}

/** A change in one line: `role: member → editor; name: Ada`. A removed value is `name: Ada → none`. */
export function describeChange(before: unknown, after: unknown): string {
  const [old, now] = [textsOf(before), textsOf(after)]
  return [...new Set([...old.keys(), ...now.keys()])]
    .map((path) => {
      const [was, is = 'none'] = [old.get(path), now.get(path)]
      return was === undefined ? `${path}: ${is}` : `${path}: ${was} → ${is}`
    })
    .join('; ')
}

function textsOf(value: unknown): Map<string, string> {
  const leaves = leavesOf(value, '').map(([path, leaf]) => [path, textOf(leaf)] as const)
  return new Map(leaves.filter(([, text]) => text !== ''))
}
