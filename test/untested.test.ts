import { expect } from 'chai'
import { slashCommands } from '../src/chat/slash/run-slash-command.ts'
import { hintOf, hints } from '../src/cli/errors/hints.ts'
import type { Advice } from '../src/contract/advice.ts'
import { Failure } from '../src/contract/failure.ts'
import { createMetrics } from '../src/service/metrics/create-metrics.ts'
import { adviceData } from './support/advice-data.ts'
import { readFastTests } from './support/fast-tests.ts'

/** What users see has a test in `npm test`, which does not run the tests with a terminal. */

const tests = readFastTests().filter(({ path }) => path !== 'untested.test.ts')

describe('npm test', () => {
  it('types each slash command of a session', () => {
    const typed = tests
      .filter(({ path }) => path.startsWith('chat/'))
      .flatMap(({ text }) => text.split('\n').filter((line) => !/^\s*(describe|it)\(/.test(line)))
      .join('\n')
    const untyped = slashCommands
      .flatMap(({ name, alias }) => (alias ? [name, alias] : [name]))
      .filter((name) => !new RegExp(`(?:\\w\\(| of \\[[^\\]]*)['"\`]/${name}[ '"\`\\\\]`).test(typed))
    expect(untyped, 'Add a test to test/chat/session that types each as say("/NAME …")').to.deep.equal([])
  })

  it('reads each metric of the service', async () => {
    const { text } = await createMetrics('1.0.0').write()
    const names = [...text.matchAll(/^# HELP (chatctl_\w+)/gm)].map(([, name = '']) => name)
    const service = tests.filter(({ path }) => path.startsWith('service/')).map((test) => test.text)
    const isRead = (name: string) =>
      service.some((test) => new RegExp(`\\b${name}(_bucket|_count|_sum)?\\b`).test(test))
    expect(names).to.have.length.above(5)
    const place = 'Add a test to test/service/running/admin-server.test.ts that expects a value of each'
    expect(
      names.filter((name) => !isRead(name)),
      place,
    ).to.deep.equal([])
  })

  it('expects the words of each hint', () => {
    const all = tests.map(({ text }) => text.replaceAll('\\', '')).join('\n')
    const codes = Object.keys(hints) as Advice['code'][]
    const described = codes.map((code) => {
      const data = code in adviceData ? adviceData[code as keyof typeof adviceData] : {}
      const failure = new Failure('refused', 'It failed', { advice: [{ code, ...data } as Advice] })
      const hint = hintOf(failure) ?? ''
      return { code, hint, phrases: phrasesOf(hint) }
    })
    const unexpected = described.filter(({ code, hint, phrases }) => {
      const own = phrases.filter(
        (phrase) => !described.some((other) => other.code !== code && other.phrases.includes(phrase)),
      )
      return own.length === 0 ? !all.includes(`${hint}'`) : !own.some((phrase) => all.includes(phrase))
    })
    const place =
      'Expect three words of each, which no other hint has, in a test of what fails, or add it to `cases` in test/cli/errors/hints.test.ts'
    expect(
      unexpected.map(({ code }) => code),
      place,
    ).to.deep.equal([])
  })
})

/** Each three consecutive words. A shorter hint is one phrase. */
function phrasesOf(hint: string): string[] {
  const words = hint.split(' ')
  if (words.length < 3) return [hint]
  return words.slice(2).map((_, index) => words.slice(index, index + 3).join(' '))
}
