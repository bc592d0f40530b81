import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { parseSync, Visitor } from 'oxc-parser'
import { check } from 'recheck'
import { root } from '../scripts/package-file.ts'
import { takeSample } from '../support/take-sample.ts'

/**
 * An expression that reads foreign text must take linear time: one request or response could otherwise block the
 * process. For the others, `bounded` gives the reason why their input is short.
 */

/** By file, the expressions that need more than linear time, with what bounds their input. */
const bounded: Record<string, Record<string, string>> = {
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

describe('the regular expressions of src', function () {
  this.timeout(600_000)
  const expressions = globSync('src/**/*.ts', { cwd: root }).flatMap(readExpressions)

  const { sample, words } = takeSample(expressions, Math.ceil(expressions.length / 4))

  it(`take linear time, or have short input (${words})`, async () => {
    const waiting = [...sample]
    const faults: string[] = []
    // The checker is a process that uses one core for each expression.
    const work = async (): Promise<void> => {
      for (let next = waiting.pop(); next; next = waiting.pop()) {
        const fault = await faultOf(next)
        if (fault !== undefined) faults.push(fault)
      }
    }
    await Promise.all([work(), work()])
    expect(faults, 'Rewrite them, or add to `bounded` what bounds their input').to.deep.equal([])
  })

  it('include each exception', () => {
    const unused = Object.entries(bounded).flatMap(([file, starts]) =>
      Object.keys(starts).filter(
        (start) => !expressions.some((one) => one.file === file && one.pattern.startsWith(start)),
      ),
    )
    expect(unused, 'Remove these from `bounded`').to.deep.equal([])
  })
})
