import { expect } from 'chai'
import fc from 'fast-check'
import { ChatHandler } from '../../support/handlers/chat.ts'
import { perTest } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { failing, serveHandler } from '../../support/scripted-server.ts'

type Delivery = 'stored' | 'local' | 'not_sent'

/** A message of an owner, as all commands must show it. */
interface Said {
  owner: string
  service: number
  text: string
  delivery: Delivery
}

describe('any sequence of commands', () => {
  const homes = [perTest(createSandbox), perTest(createSandbox)]
  const servers = [
    perTest(() => serveHandler(new ChatHandler())),
    perTest(() => serveHandler(new ChatHandler())),
  ]
  const number = fc.nat(1)
  const owner = fc.record({ home: number, service: number, profile: number })
  const command = fc.record({
    owner,
    what: fc.constantFrom('send', 'send', 'system', 'refused', 'reset', 'export'),
  })

  it('of two users, profiles, services, and homes leaves the same facts in every list', async () => {
    let count = 0
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 10, maxLength: 20 }), async (commands) => {
        let said: Said[] = []
        const round = `r${++count}`
        const run = ({ home, service, profile }: (typeof commands)[0]['owner'], ...args: string[]) => {
          const name = `p${profile}s${service}${round}`
          const env = { CHATCTL_API_KEY: `key-${profile}`, CHATCTL_RETRIES: '0', CHATCTL_PROFILE: name }
          return runChatctl(homes[home] as never, args, { env })
        }
        const nameOf = (each: (typeof commands)[0]['owner']) => JSON.stringify(each)
        for (const home of [0, 1])
          for (const service of [0, 1])
            for (const profile of [0, 1])
              await run(
                { home, service, profile },
                ...[
                  'config',
                  'set',
                  'base_url',
                  servers[service]?.url ?? '',
                  '-p',
                  `p${profile}s${service}${round}`,
                ],
              )
        for (const [index, { owner: by, what }] of commands.entries()) {
          const server = servers[by.service]
          const text = `${round}n${index}`
          const add = (delivery: Delivery) =>
            said.push({ owner: nameOf(by), service: by.service, text, delivery })
          if (what === 'reset') {
            for (const context of server?.contexts ?? []) server?.forget(context, 1000)
            continue
          }
          if (what === 'export') {
            await run(by, 'history', 'export')
            const has = server?.history().map(({ content }) => content) ?? []
            said = said.map((one) =>
              one.owner === nameOf(by) && one.delivery === 'stored' && !has.includes(one.text)
                ? { ...one, delivery: 'local' }
                : one,
            )
            continue
          }
          if (what === 'refused') server?.failNext(failing(401, 'unauthorized', 'Invalid key'))
          await run(by, 'chat', 'send', text, ...(what === 'system' ? ['--system', 'Be brief'] : []))
          add(what === 'refused' ? 'not_sent' : what === 'system' ? 'local' : 'stored')
        }
        for (const by of [...new Map(commands.map((one) => [nameOf(one.owner), one.owner])).values()]) {
          const own = said.filter((one) => one.owner === nameOf(by))
          const texts = (wanted: readonly Delivery[]) =>
            own.filter(({ delivery }) => wanted.includes(delivery)).map((one) => one.text)
          const sessions = JSON.parse((await run(by, 'chat', 'sessions', '--json')).stdout)
          expect(
            sessions.map((one: Record<string, string>) => [one['first_message'], one['stored']]),
          ).to.deep.equal(
            own.toReversed().map((one) => [one.text, one.delivery === 'stored' ? 'service' : one.delivery]),
          )
          const exported = (await run(by, 'history', 'export', '--local')).stdout.split('\n').filter(Boolean)
          const prompts = exported.map((line) => JSON.parse(line)).filter(({ role }) => role === 'user')
          expect(prompts.map(({ content }) => content)).to.have.members(texts(['local', 'not_sent']))
          for (const [flag, wanted] of [
            ['--stored', ['stored']],
            ['--local', ['local', 'not_sent']],
          ] as const) {
            const found = await run(by, 'history', 'search', `${round}*`, flag, '--role', 'user', '--json')
            const snippets = JSON.parse(found.stdout).map(({ snippet }: { snippet: string }) => snippet)
            expect(snippets).to.have.members(texts(wanted))
          }
        }
      }),
      { numRuns: 3 },
    )
  })
})
