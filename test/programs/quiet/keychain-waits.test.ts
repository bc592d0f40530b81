import { expect } from 'chai'
import { startBearerService, tokensSeen } from '../../support/handlers/bearer.ts'
import { perSuite } from '../../support/lifetime.ts'
import { createSandbox, type Sandbox } from '../../support/sandbox.ts'
import type { ScriptedServer } from '../../support/scripted-server.ts'
import { takeSample } from '../../support/take-sample.ts'
import { startSecretService } from '../keychain/secret-service.ts'
import { startSilentBus } from '../keychain/session-bus.ts'
import { attributesOf, expectCode, linesOf, storedKey } from '../keychain/stored-key.ts'
import { programsLeft, runTimed, type Timing } from '../timed-run.ts'

/** One way in which a keychain makes its caller wait. */
interface Wait {
  title: string
  /** @returns the environment of a program that waits, and a function that ends the wait */
  begin(sandbox: Sandbox, service: ScriptedServer): Promise<{ env: NodeJS.ProcessEnv; end(): Promise<void> }>
  /** Whether it lasts until the test ends it: some calls of the module stop after 2 s with a stopped daemon. */
  endless: boolean
}

const withItem = async (sandbox: Sandbox, service: ScriptedServer, dialog?: 'unanswered') => {
  const keyring = await startSecretService(sandbox, dialog)
  keyring.secretTool(['store', '--label=of a test', ...attributesOf(service)], storedKey('canary-1'))
  return keyring
}

const waits: Wait[] = [
  {
    title: 'a dialog that is not answered',
    endless: true,
    begin: async (sandbox, service) => {
      const keyring = await withItem(sandbox, service, 'unanswered')
      keyring.lock()
      return { env: keyring.env, end: () => keyring.close() }
    },
  },
  {
    title: 'a daemon that is stopped',
    endless: false,
    begin: async (sandbox, service) => {
      const keyring = await withItem(sandbox, service)
      keyring.stop()
      return { env: keyring.env, end: () => keyring.close() }
    },
  },
  {
    title: 'a bus that never responds',
    endless: true,
    begin: async () => {
      const bus = await startSilentBus()
      return { env: bus.env, end: () => bus.close() }
    },
  },
]

const { sample, words } = takeSample(waits, 1)
for (const { title, begin, endless } of sample) {
  describe(`waiting for a keychain with ${title} (${words})`, () => {
    const sandbox = perSuite(createSandbox)
    const service = perSuite(() => startBearerService(() => true))
    let env: NodeJS.ProcessEnv
    let end: () => Promise<void>
    before(async () => {
      ;({ env, end } = await begin(sandbox, service))
      const set = await timed(['config', 'set', 'base_url', service.url, '-p', 'work'])
      expect(set.exitCode, set.stderr).to.equal(0)
    })
    after(() => end())
    afterEach(async () => {
      expect(await programsLeft(sandbox), 'processes that are left').to.deep.equal([])
    })

    const models = ['chat', 'models', '-p', 'work', '--json']

    const timed = (args: readonly string[], interrupt?: Timing['interrupt']) =>
      runTimed(sandbox, args, { env, interrupt })

    const commands = {
      'a request': models,
      'auth status': ['auth', 'status', '-p', 'work', '--json'],
      'auth logout': ['auth', 'logout', '-p', 'work', '--json'],
      'a login': ['auth', 'login', '--with-api-key', '-p', 'work', '--json'],
    }

    it('ends with a notice and a timeout for every command', async () => {
      const runs = Object.entries(commands).map(async ([name, args]) => [name, await timed(args)] as const)
      for (const [name, run] of await Promise.all(runs)) {
        expectCode(run, 'keychain_timeout')
        expect(run.stderr, name).not.to.contain('canary')
        expect(run.endedAfter, name).to.be.below(14_000)
        if (!endless) continue
        const notices = linesOf(run).flatMap(({ notice }) => notice?.message ?? [])
        expect(notices, name).to.deep.equal(['Waiting for the keychain. It may show a prompt to unlock it…'])
        expect(run.waitingAfter, name).to.be.within(1_900, 6_000)
        expect(run.endedAfter, name).to.be.above(9_900)
      }
    })

    const whenItWaits = endless ? 'when it says that it waits' : 1_200
    for (const [name, args, moment] of [
      ...Object.entries(commands).map(([name, args]) => [name, args, whenItWaits] as const),
      ['a request, before the notice', models, 1_200] as const,
    ])
      it(`ends immediately after Ctrl-C: ${name}`, async () => {
        const run = await timed(args, moment)
        expect(run.exitCode, run.stderr).to.equal(130)
        expect(run.endedAfter).to.be.below(1_000)
        expect(run.stderr).not.to.match(/"error"|Error/)
      })

    it('is not necessary with a key in the environment', async () => {
      const run = await runTimed(sandbox, models, { env: { ...env, CHATCTL_API_KEY: 'canary-3' } })
      expect(run.exitCode, run.stderr).to.equal(0)
      expect(run.endedAfter).to.be.below(1_900)
    })

    it('sends no credential to the service', () => {
      expect(tokensSeen(service)).not.to.include('canary-1')
    })
  })
}
