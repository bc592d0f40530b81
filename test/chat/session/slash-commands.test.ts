import { expect } from 'chai'
import type { SessionOptions } from '../../../src/chat/session-options.ts'
import { perTest } from '../../support/lifetime.ts'
import { type SessionRun, SessionWorld } from './session-run.ts'

type Found = Awaited<ReturnType<SessionOptions['search']>>['results'][number]

describe('a slash command', () => {
  const world = perTest(() => SessionWorld.open())

  const ask = (run: SessionRun, text: string) => run.say(text, new RegExp(`You said: ${text}[\\s\\S]*total`))
  const contexts = () => world.server.sends.map(({ context_id: context }) => context)

  it('/new begins another conversation, and names the previous session', async () => {
    const run = await world.run()
    await ask(run, 'one')
    const { id } = world.transcript()
    await run.say('/new', new RegExp(`New session, [\\s\\S]* Resume the previous one\\s+with: /resume ${id}`))
    await ask(run, 'two')
    expect(contexts()).to.deep.equal([undefined, undefined])
    expect(world.transcript().turns.map(({ user }) => user)).to.deep.equal(['two'])
  })

  it('/clear clears the screen, and keeps the conversation', async () => {
    const run = await world.run()
    await ask(run, 'one')
    await run.say('/clear', /^>$/)
    await ask(run, 'two')
    expect(contexts()).to.deep.equal([undefined, 'ctx_1'])
    expect(await run.leave()).not.to.contain('You said: one')
  })

  it('/search shows what was found, with its session and role', async () => {
    const searched: string[] = []
    const found: Partial<Found> = { session_id: 's1', time: null, role: 'user', snippet: 'The Eiffel tower' }
    const run = await world.run(undefined, {
      search: async (words) => {
        searched.push(words)
        const isFound = words === 'eiffel'
        return { results: isFound ? [found as Found] : [], hasMore: isFound }
      },
    })
    await run.say('/search', 'Missing search text')
    await run.say('/search eiffel', /^s1 {2}user: The Eiffel tower\n… and more$/m)
    await run.say('/search unheard of', 'No matches for "unheard of".')
    expect(searched).to.deep.equal(['eiffel', 'unheard of'])
  })

  it('/editor opens the editor for the next message', async function () {
    if (process.platform === 'win32') this.skip()
    const run = await world.run(undefined, { editorCommand: `printf 'from the editor' >` })
    await run.say('/editor', /^> from the editor$/m)
    await run.say('', /You said: from the editor[\s\S]*total/)
  })

  for (const command of ['/quit', '/exit']) {
    it(`${command} leaves the session`, async () => {
      const run = await world.run()
      await ask(run, 'one')
      await run.say(command, '1 turn: one\nResume with')
    })
  }
})
