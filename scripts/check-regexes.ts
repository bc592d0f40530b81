import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseSync, Visitor } from 'oxc-parser'
import { check } from 'recheck'

/**
 * `node scripts/check-regexes.ts` fails if a regular expression in src can take more than linear time, unless
 * `bounded` says why its input is short. An expression that reads foreign text must be linear: one request or
 * response could otherwise block the process.
 */

const root = resolve(import.meta.dirname, '..')

/** By file, the expressions that need more than linear time, with what bounds their input. */
export const bounded: Record<string, Record<string, string>> = {
  'src/view/format/wrap-words.ts': {
    '^(?!Error: (?:-|chatctl ))(.*?:) ': 'hints, which chatctl composes',
    '(?<=: chatctl [^:]+)': 'hints, which chatctl composes',
  },
  'src/view/format/quantities.ts': { '\\B(?=(\\d{3})+$)': 'a number of JavaScript has at most 22 digits' },
  'src/chat/attachments.ts': { '(?<=^|[\\s([{])@': 'the last 4,096 characters before the cursor' },
  'src/history/search-query.ts': {
    '[\\p{Script=Han}': 'classes of characters; the checker does not know the flag v',
  },
  'src/auth/credentials/keychain-failure.ts': { 'native binding|': 'a message of the system' },
}

interface Expression {
  file: string
  pattern: string
  flags: string
}

function readExpressions(file: string): Expression[] {
  const found: Expression[] = []
  const { program } = parseSync(file, readFileSync(join(root, file), 'utf8'))
  new Visitor({
    Literal: (node) => {
      if ('regex' in node && node.regex) found.push({ file, ...node.regex })
    },
  }).visit(program)
  return found
}

/** Steps are limited, not time: on a busy machine, the checker would take a short timeout for a slow expression. */
const limits = { attackTimeout: null, incubationTimeout: null, timeout: 300_000 }

/** What is wrong with an expression; undefined if it takes linear time, or its input is short. */
async function faultOf({ file, pattern, flags }: Expression): Promise<string | undefined> {
  if (Object.keys(bounded[file] ?? {}).some((start) => pattern.startsWith(start))) return undefined
  const found = await check(pattern, flags, { ...limits, randomSeed: 1 })
  if (found.status === 'safe') return undefined
  const why = found.status === 'vulnerable' ? found.complexity.summary : 'the checker cannot tell'
  return `${file}: /${pattern}/${flags}: ${why}`
}

if (import.meta.main) {
  const files = globSync('src/**/*.ts', { cwd: root }).sort()
  const waiting = files.flatMap(readExpressions)
  const faults = Object.entries(bounded).flatMap(([file, starts]) =>
    Object.keys(starts)
      .filter((start) => !waiting.some((one) => one.file === file && one.pattern.startsWith(start)))
      .map((start) => `${file}: no expression begins with ${start}, so remove its exception`),
  )
  // The checker is a process that uses one core for each expression.
  const work = async (): Promise<void> => {
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const fault = await faultOf(next)
      if (fault !== undefined) faults.push(fault)
    }
  }
  await Promise.all([work(), work()])
  for (const fault of faults) process.stderr.write(`${fault}\n`)
  if (faults.length > 0) process.exitCode = 1
}
