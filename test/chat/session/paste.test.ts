import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { joinFiles } from '../../../src/contract/resources/file-block.ts'
import { plainText } from '../../../src/terminal/editor/pasted-text.ts'
import { perTest } from '../../support/lifetime.ts'
import { failing } from '../../support/scripted-server.ts'
import { type SessionRun, SessionWorld } from './session-run.ts'

const paste = (text: string): string => `\u001b[200~${text}\u001b[201~`
const a = { name: 'a.ts', content: 'let a\n' }
const log = `log (@~/.ssh/id_demo) @a.ts\n${'more\n'.repeat(12)}`

describe('pasted text in a session', () => {
  const world = perTest(() => SessionWorld.open())
  let run: SessionRun
  beforeEach(async () => {
    mkdirSync(join(world.home, '.ssh'))
    writeFileSync(join(world.home, '.ssh', 'id_demo'), 'the key\n')
    writeFileSync(join(world.home, 'my notes.txt'), 'x')
    writeFileSync(join(world.home, a.name), a.content)
    run = await world.run(undefined, { editorCommand: `printf '. And more' >>` })
  })

  /** Types or pastes each part, and returns the screen and the sent messages. */
  const send = async (...parts: string[]) => {
    for (const part of parts) run.terminal.type(part)
    run.terminal.type('\r')
    await run.terminal.waitFor(/total/)
    const shown = await run.leave()
    return { shown: shown.replaceAll(/\s+/g, ' '), sent: world.server.sends.map(({ message }) => message) }
  }
  const hint = 'which was not typed. To send the file, type: /file '

  for (const [title, parts, text] of [
    ['a path', [paste('See (@a.ts)')], 'See (@a.ts)'],
    ['a path in a collapsed paste', ['Why? ', paste(log)], `Why? ${log}`],
    ['a path of which a part was typed', ['@', paste('a'), '.ts'], '@a.ts'],
    ['a path after a typed @', ['See @', paste('a.ts')], 'See @a.ts'],
    ['a quoted path', ['@"my', paste(' notes.txt"')], '@"my notes.txt"'],
    ['a path in which Tab completes nothing', [paste('@a.t'), '\t', 's'], '@a.ts'],
    ['a path that was killed and yanked', [paste('@a.ts'), '\u0015Look \u0019'], 'Look @a.ts'],
    ['a path with a character deleted', [paste('@a.tsx'), '\u007f'], '@a.ts'],
    ['paths that the editor kept', [paste('@a.ts (@a.ts)'), '\u0007'], '@a.ts (@a.ts). And more'],
    ['a recalled path', [paste('@a.ts'), '\u0003', '\u001b[A'], '@a.ts'],
    ['a path that Ctrl-R finds', [paste('@a.ts ok'), '\u0003', '\u0012', 's o', '\u001b[F'], '@a.ts ok'],
  ] as const) {
    it(`sends ${title} as text, and says how to attach the file`, async () => {
      for (const part of parts) {
        run.terminal.type(part)
        if (part === '\u0007') await run.terminal.waitFor(/And more$/m)
      }
      const { shown, sent } = await send()
      expect(sent).to.deep.equal([text])
      expect(shown).to.contain(hint).and.not.to.contain('[with')
    })
  }

  for (const [title, parts, text] of [
    ['beside it', [paste('Look ('), ' @a.ts ', paste('@x/y)')], 'Look ( @a.ts @x/y)'],
    ['that is recalled with it', ['@a.ts ', paste('@a'), '\u0003', '\u001b[A'], '@a.ts @a'],
    ['after /file, of which the path is pasted', ['/file ', paste('a.ts'), '\rHi'], 'Hi'],
  ] as const) {
    it(`leaves a typed path ${title} a path`, async () => {
      const { shown, sent } = await send(...parts)
      expect(sent).to.deep.equal([joinFiles({ files: [a], text })])
      expect(shown).not.to.contain(hint)
    })
  }

  for (const [title, parts, text] of [
    ['by itself', [paste('/system off')], '/system off'],
    ['in a collapsed paste', [paste(`/system ${log}`)], `/system ${log}`],
    ['after a typed slash', ['/', paste('system off')], '/system off'],
    ['if what is before it is deleted', [paste('x/system off'), '\u0001\u001b[3~'], '/system off'],
    ['if it is recalled', [paste('/system off'), '\u0003', '\u001b[A'], '/system off'],
  ] as const) {
    it(`runs no command ${title}, and says so`, async () => {
      const { shown, sent } = await send(...parts)
      expect(sent).to.deep.equal([text])
      expect(shown).to.contain('[Sent as text: only a typed command runs]')
    })
  }

  it('may be the argument of a typed command, and follow a typed //', async () => {
    run.terminal.type(`/system ${paste('Answer in /prose @home')}\r`)
    await run.terminal.waitFor('system: Answer in /prose @home')
    run.terminal.type(`//${paste('/etc @a.ts')}\r`)
    await run.terminal.waitFor(/total/)
    expect(await run.leave()).not.to.contain(hint)
    expect(world.server.completions.at(-1)?.messages?.at(-1)?.content).to.equal('//etc @a.ts')
  })

  it('stays text in a message that failed, and in one that is edited, also in a resumed session', async () => {
    world.server.failNext(failing(503, 'busy', 'busy'))
    run.terminal.type(`${paste('/quit (@a.ts)')}\r`)
    await run.terminal.waitFor('Press Enter to send it again')
    run.terminal.type('\r')
    await run.terminal.waitFor(/total/)
    for (const more of [' now', ' later']) {
      if (more === ' later') {
        await run.leave()
        run = await world.resume()
      }
      await run.say('/edit', /Press Enter to replace/)
      run.terminal.type(`${more}\r`)
      await run.terminal.waitFor(new RegExp(`You said: .*${more}[\\s\\S]*total`))
    }
    const text = '/quit (@a.ts)'
    const sent = world.server.sends.map(({ message }) => message)
    expect(sent).to.deep.equal([text, text, `${text} now`, `${text} now later`])
  })

  it('is shown and stored without marks, except in the input history', async () => {
    const { shown } = await send(paste('See /etc/hosts'))
    expect(shown).to.equal(plainText(shown))
    expect(world.transcript().turns.map(({ user }) => user)).to.deep.equal(['See /etc/hosts'])
    const recalled = readFileSync(join(world.home, 'recall.jsonl'), 'utf8')
    expect(plainText(recalled)).to.contain('"See /etc/hosts"')
    expect(recalled).not.to.equal(plainText(recalled))
  })
})
