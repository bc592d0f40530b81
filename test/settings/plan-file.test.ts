import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { hintOf } from '../../src/cli/errors/hints.ts'
import { Client } from '../../src/client/client.ts'
import type { ClientOptions } from '../../src/client/client-options.ts'
import { nest } from '../../src/contract/notation/tree.ts'
import { readBackPauses } from '../../src/contract/request-defaults.ts'
import type { ApplicationSettings, SettingsPatch } from '../../src/contract/resources/settings.ts'
import type { SettingsFile } from '../../src/contract/resources/settings-file.ts'
import { Ledger } from '../../src/ledger/ledger.ts'
import { LedgerRun } from '../../src/ledger/ledger-run.ts'
import type { Run } from '../../src/run/run.ts'
import {
  type ApplyOptions,
  applyPlan,
  assertCurrent,
  confirmAndApply,
} from '../../src/settings/apply/apply-plan.ts'
import { changeAndVerify } from '../../src/settings/apply/change-settings.ts'
import { withSettingsLock } from '../../src/settings/apply/settings-lock.ts'
import {
  changesOf,
  makePlan,
  type Plan,
  requestsOf,
  settingsFileOf,
  valuesOf,
} from '../../src/settings/plan.ts'
import {
  composePlanFile,
  type PlanUse,
  readPlanFile,
  refusalOf,
  settingsPlan,
} from '../../src/settings/plan-file.ts'
import { systemClock } from '../../src/system/clock.ts'
import { Directories } from '../../src/system/files/directories.ts'
import { composePlan, isPlan } from '../../src/system/files/saved-plan.ts'
import { failureOf, hurriedClock, reasonOf } from '../client/capture.ts'
import { makeEmptyDirectory } from '../support/empty-directory.ts'
import { lay, SettingsHandler } from '../support/handlers/settings.ts'
import { perTest } from '../support/lifetime.ts'
import {
  answer,
  type Behavior,
  failing,
  html502,
  json,
  reset,
  resetMidBody,
  type Served,
  serveHandler,
} from '../support/scripted-server.ts'
import { thrownFailure } from '../support/thrown-failure.ts'
import { barrier } from '../support/until.ts'
import { anyConfiguration, anyPatch, anySettings, anySubset, someSettings } from './any-settings.ts'

const service = 'https://chat.example/base'
const sentAt = '2026-01-02T03:04:05.000Z'

/** @param configuration the API configuration that was last sent */
function planFor(
  wanted: { settings: object; api: object },
  current: ApplicationSettings = {},
  configuration?: object | null,
): Plan {
  const sent = configuration ? { api: { sentAt, configuration } } : {}
  return makePlan(service, wanted, current, sent, systemClock)
}

describe('a plan file', () => {
  const home = perTest(makeEmptyDirectory)
  const toolVersion = '1.2.3'
  const about = () => {
    const directories = new Directories({ XDG_STATE_HOME: home.path })
    return { directories, service, clock: systemClock, toolVersion }
  }
  const anyPlan: fc.Arbitrary<Plan> = fc
    .tuple(anyPatch, fc.option(anySubset(anyConfiguration)), anySettings, fc.option(anyConfiguration))
    .map(([settings, api, current, sent]) => planFor({ settings, api: api ?? {} }, current, sent))

  const file = { settings: { theme: { mode: 'dark' }, limits: { max_tokens: 12 } }, api: { version: '2' } }
  const plan = planFor(file, someSettings)
  const compose = (version = toolVersion, saved = plan) => composePlanFile(saved, version, systemClock)
  const newPlan = 'chatctl settings diff FILE --save PLAN'

  function read(text: string, use: { service?: string } & Partial<PlanUse> = {}) {
    const context = { ...about(), ...use }
    const saved = readPlanFile({ name: 'a.plan', text }, toolVersion)
    const refusal = refusalOf(context, saved, 'a.plan', context)
    if (refusal) throw refusal
    return saved
  }
  const failureFor = (text: string, use?: Parameters<typeof read>[1]) => thrownFailure(() => read(text, use))

  it('restores the saved plan', () =>
    fc.assert(
      fc.property(anyPlan, (saved) => {
        const text = compose(toolVersion, saved)
        expect(isPlan(text, settingsPlan)).to.equal(true)
        expect(read(text).plan).to.deep.equal(saved)
      }),
    ))

  it('is rejected after any change of a character that alters its content', () => {
    const text = compose()
    const anyCharacter = fc.oneof(
      fc.constantFrom(...'0123456789abcdef"{}[]:, \n-.eE+\\'),
      fc.string({ minLength: 1, maxLength: 1 }),
    )
    fc.assert(
      fc.property(fc.nat(text.length - 1), anyCharacter, fc.constantFrom(0, 1), (at, character, removed) => {
        const altered = text.slice(0, at) + character + text.slice(at + removed)
        if (altered.trimEnd() === text.trimEnd()) expect(read(altered).plan).to.deep.equal(plan)
        else expect(failureFor(altered).kind).to.equal('refused')
      }),
      { numRuns: 3 * (fc.readConfigureGlobal().numRuns ?? 100) },
    )
  })

  it('is not a settings file, and a settings file is not a plan', () => {
    for (const text of ['{}', '[]', 'null', '"chatctl-plan"', 'app_name: x', '', '{"format": "other"}']) {
      expect(isPlan(text, settingsPlan), text).to.equal(false)
      expect(failureFor(text).kind).to.equal('refused')
    }
  })

  it('is recognized and rejected if it is truncated', () => {
    const text = compose().trimEnd()
    for (const length of [40, 200, text.length - 1]) {
      const cut = text.slice(0, length)
      expect(isPlan(cut, settingsPlan), cut).to.equal(true)
      expect(failureFor(cut).message).to.contain('was changed or truncated')
    }
  })

  it('is for one service only', () => {
    const failure = failureFor(compose(), { service: 'local', refresh: true })
    const message = 'The plan a.plan is for https://chat.example/base, not for the embedded service'
    expect(failure).to.include({ kind: 'conflict', message })
    expect(hintOf(failure)).to.contain(newPlan)
  })

  it('is for one version of chatctl, unless it is refreshed', () => {
    const text = compose('1.2.4')
    const failure = failureFor(text)
    const message = 'The plan a.plan was made by chatctl 1.2.4, but this is chatctl 1.2.3'
    expect(failure).to.include({ kind: 'conflict', message })
    expect(hintOf(failure)).to.contain(newPlan)
    expect(read(text, { refresh: true }).plan).to.deep.equal(plan)
  })

  it('can be sent once, unless it is refreshed', async () => {
    const text = compose()
    const ledger = Ledger.of(about().directories, service)
    const run = new LedgerRun(ledger, { command: 'settings apply', service }, systemClock)
    await run.note({ plan: read(text).id })
    run.close()
    expect(failureFor(text)).to.include({ kind: 'conflict', message: 'The plan a.plan was already sent' })
    expect(read(text, { refresh: true }).plan).to.deep.equal(plan)
    expect(read(compose()).plan, 'another of the same').to.deep.equal(plan)
  })

  it('can contain keys that are not documented', () => {
    const unknown = { service, settings: [{ path: 'foo.bar', from: null, to: [{ a: 1 }] }] }
    expect(read(compose(toolVersion, unknown)).plan).to.deep.equal(unknown)
  })

  it('is rejected with an id that leads elsewhere, even with a valid checksum', () => {
    const { id: _, ...content } = read(compose())
    const text = composePlan(settingsPlan, { ...content, id: '../../x' })
    expect(failureFor(text).message).to.equal('a.plan is not a plan made by chatctl')
  })
})

describe('leaves of settings', () => {
  it('restore the same nested objects', () =>
    fc.assert(
      fc.property(anyPatch, (patch) => {
        expect(nest(valuesOf(patch))).to.deep.equal(patch)
      }),
    ))

  it('can have any name, even __proto__ and constructor', () => {
    const odd = JSON.parse('{"__proto__": {"constructor": 1}, "toString": "x"}')
    const leaves = valuesOf(odd)
    expect([...leaves.keys()]).to.deep.equal(['__proto__.constructor', 'toString'])
    expect(JSON.stringify(nest(leaves))).to.equal(JSON.stringify(odd))
  })

  it('are scalars, null, and lists, and an empty object has none', () =>
    expect([...valuesOf({ a: { b: null, c: [1, { d: 2 }] }, e: {} })]).to.deep.equal([
      ['a.b', null],
      ['a.c', [1, { d: 2 }]],
    ]))
})

describe('a plan', () => {
  const changedBy = (settings: object, current: ApplicationSettings) =>
    changesOf(planFor({ settings, api: {} }, current)).map(({ path }) => path)

  it('turns the current settings into the wanted ones, after which nothing differs, and sends only keys that differ', () =>
    fc.assert(
      fc.property(anySettings, anyPatch, (current, settings) => {
        const wanted = { settings, api: {} }
        const plan = planFor(wanted, current)
        const { patch = {} } = requestsOf(plan)
        const after = lay(current, patch)
        expect(changesOf(planFor(wanted, after))).to.deep.equal([])
        expect(lower(after)).to.deep.equal(lower(lay(current, settings)))
        expect([...valuesOf(patch).keys()]).to.deep.equal(changesOf(plan).map(({ path }) => path))
        for (const { from, to } of changesOf(plan)) expect(from).not.to.deep.equal(to)
      }),
    ))

  it('sends all managed keys of the API configuration if any of them differs, else none', () =>
    fc.assert(
      fc.property(anyConfiguration, anySubset(anyConfiguration), (sent, api) => {
        const isSent = JSON.stringify(lay(sent, api)) === JSON.stringify(sent)
        const expected = { patch: undefined, configuration: isSent ? undefined : api }
        expect(requestsOf(planFor({ settings: {}, api }, {}, sent))).to.deep.equal(expected)
      }),
    ))

  it('preserves the content of the settings files', () =>
    fc.assert(
      fc.property(anySettings, anyPatch, anySubset(anyConfiguration), (current, settings, api) => {
        expect(settingsFileOf(planFor({ settings, api }, current))).to.deep.equal({ settings, api })
      }),
    ))

  it('has null for values that the service lacks', () => {
    const wanted = { settings: { theme: { mode: 'dark' } }, api: { version: '2' } }
    const plan = planFor(wanted, { theme: null } as never)
    expect(plan.api?.sentAt).to.equal(null)
    expect(changesOf(plan)).to.deep.equal([
      { path: 'theme.mode', from: null, to: 'dark' },
      { path: 'api.version', from: null, to: '2' },
    ])
  })

  it('ignores the case of colors, but not of other texts', () => {
    const changed = changedBy({ app_name: 'CHAT', theme: { primary_color: '#3366ff' } }, someSettings)
    expect(changed).to.deep.equal(['app_name'])
  })

  it('treats 0 and -0 as equal, as JSON does', () => {
    const zero = lay(someSettings, { limits: { max_tokens: 0 } })
    expect(changedBy({ limits: { max_tokens: -0 } }, zero)).to.deep.equal([])
  })

  it('has the key order of the contract, not that of the file', () => {
    const changed = changedBy({ limits: { max_tokens: 1 }, theme: { mode: 'x' }, app_name: 'y' }, {})
    expect(changed).to.deep.equal(['app_name', 'theme.mode', 'limits.max_tokens'])
  })
})

function lower(settings: object): object {
  const leaves = new Map(valuesOf(settings))
  leaves.set('theme.primary_color', String(leaves.get('theme.primary_color')).toLowerCase())
  return nest(leaves)
}

const dark = { theme: { mode: 'dark' } }
const two = { theme: { mode: 'dark' }, limits: { max_tokens: 12 } }
const version = { version: '2' }
/** Overrides of the normal behavior of the service. */
type Manners = Partial<SettingsHandler>

const ignored: Manners = { patched: (before) => before }
const without = (status: number, said = 'no') => failing(status, 'no', said)

/** A run with the parts that changing settings uses. */
function runWith(parts: Partial<Run>): Run {
  const none = {
    dryRun: false,
    service: 'a',
    signal: new AbortController().signal,
    noteSettings: () => {},
    contradictSettings: () => {},
    warnOfResponse: async () => {},
    commandFor: (...words: string[]) => ['chatctl', ...words].join(' '),
    showAside: async () => {},
  }
  return { ...none, ...parts } as Run
}

describe('applying a settings plan', () => {
  let server: Served<SettingsHandler>
  let client: Client
  let abort: AbortController
  /** What the callbacks were called with. */
  let told: { warnings: string[]; pauses: number[] }

  async function begin(manners: Manners = {}, options: Partial<ClientOptions> = {}) {
    await end()
    server = await serveHandler(Object.assign(new SettingsHandler(), { settings: someSettings }, manners))
    abort = new AbortController()
    told = { warnings: [], pauses: [] }
    const internal = { clock: hurriedClock() }
    client = new Client({ baseUrl: server.url, internal, timeout: 2_000, signal: abort.signal, ...options })
  }

  async function end() {
    await client?.close()
    await server?.close()
  }
  after(end)

  /** The requests in their order, such as `PATCH {"a":1}` and `GET`. */
  const seen = () => server.requests.map(({ method, body }) => `${method} ${body}`.trim())
  const changes = () => seen().filter((line) => line !== 'GET')
  const patchOf = (body: object) => `PATCH ${JSON.stringify(body)}`

  const runOf = (parts: Partial<Run> = {}) =>
    runWith({
      connect: async () => client,
      signal: abort.signal,
      clock: { ...systemClock, sleep: async (ms) => void told.pauses.push(ms) },
      warn: async (words) => void told.warnings.push(words),
      ...parts,
    })

  function apply(settings: SettingsPatch, api: SettingsFile['api'] = {}, before = server.settings) {
    return applyPlan(runOf(), makePlan(server.url, { settings, api }, before, {}, systemClock), before)
  }

  const failedRequests = () => told.warnings.filter((words) => words.includes('although the request failed'))
  const sideEffects = () => told.warnings.filter((words) => words.startsWith('Also changed'))

  /** Makes the change like `settings set` if the service does not show the settings before it. */
  function set(settings: SettingsPatch, parts: Partial<Run> = {}) {
    return changeAndVerify(runOf(parts), settings, { managed: valuesOf(settings), before: undefined })
  }

  const bothKeys = [
    { path: 'theme.mode', expected: 'dark', found: 'light' },
    { path: 'limits.max_tokens', expected: 12, found: 4096 },
  ]
  const unknown = 'The outcome of the change is unknown: '

  it('trusts a reading more than a response without a usable body', async () => {
    for (const said of [answer(204), answer(202), answer(200, {}, 'done'), json(201, { theme: 'x' })]) {
      await begin({ answerPatch: said })
      await apply(dark)
    }
  })

  describe('when a key did not take effect', () => {
    for (const status of [200, 204])
      it(`reports a conflict although the response was ${status}`, async () => {
        await begin({ ...ignored, answerPatch: status === 200 ? json(200, someSettings) : answer(204) })
        for (const act of [apply, set]) {
          const { kind, message, details } = await failureOf(act(two))
          expect(kind).to.equal('conflict')
          expect(message).to.equal(
            'theme.mode did not take effect: expected "dark", found "light"; ' +
              `limits.max_tokens did not take effect: expected 12, found 4096 (the PATCH returned ${status})`,
          )
          expect(details).to.deep.equal({ keys: bothKeys, status })
        }
        expect(told.pauses).to.deep.equal([...readBackPauses, ...readBackPauses])
        expect(changes()).to.have.length(2)
      })

    it('fails at the first reading with a value that is neither the old nor the new one', async () => {
      for (const [said, lag] of [
        [json(200, lay(someSettings, dark)), 0],
        [answer(202), 1],
        [answer(204), 1],
        [reset, 1],
      ] as const) {
        await begin({ lag, patched: (before) => lay(before, { theme: { mode: 'x' } }), answerPatch: said })
        const { kind, message } = await failureOf(apply(two))
        expect(kind).to.equal('conflict')
        expect(message)
          .to.contain('theme.mode did not take effect: expected "dark", found "x"')
          .and.contain('limits.max_tokens did not take effect: expected 12, found 4096')
        expect(told.pauses).to.have.length(lag)
      }
    })
  })

  describe('when the outcome is unknown', () => {
    const lost: [string, Behavior][] = [
      ['a reset', reset],
      ['a truncated response', resetMidBody()],
      ['502', html502],
      ['a redirect to another origin', answer(302, { location: 'https://elsewhere.example/' })],
    ]
    for (const [what, said] of lost)
      it(`reports an unknown outcome after ${what} if the old value is still found`, async () => {
        for (const act of [apply, set]) {
          await begin({ ...ignored, answerPatch: said })
          const failure = await failureOf(act(two))
          const code = 'unknown_outcome'
          expect(failure).to.include({ kind: code, code, isOutcomeUnknown: true })
          expect(failure.message)
            .to.match(/^The outcome of the change is unknown: (?!the outcome).+/)
            .and.contain('theme.mode is "light", not "dark", limits.max_tokens is 4096, not 12')
            .and.not.contain('did not take')
          expect(hintOf(failure)).to.match(/chatctl settings get$/)
          expect(failure.details).to.deep.include({ keys: bothKeys })
          expect(told.pauses.reduce((sum, ms) => sum + ms, 0)).to.equal(10_000)
          expect(failedRequests()).to.deep.equal([])
          expect(changes()).to.have.length(1)
        }
      })

    it('reports an unknown outcome after 202, because the service has only accepted the change', async () => {
      await begin({ ...ignored, answerPatch: answer(202) })
      const { kind, message, details } = await failureOf(apply(dark))
      expect(kind).to.equal('unknown_outcome')
      expect(details).to.have.property('status', 202)
      expect(message).to.equal(`${unknown}the PATCH returned 202; theme.mode is "light", not "dark"`)
    })

    it('succeeds if any reading finds the late change', async () => {
      for (const lag of [0, 1, 5]) {
        await begin({ lag, answerPatch: reset })
        await apply(two)
        expect(told.pauses).to.have.length(lag)
        expect(failedRequests()).to.have.length(1)
      }
    })

    it('names the keys that changed and those that did not', async () => {
      for (const said of [without(500), reset]) {
        await begin({ patched: (before) => lay(before, dark), answerPatch: said })
        const { kind, message } = await failureOf(apply(two))
        expect(kind).to.equal('unknown_outcome')
        expect(message).to.contain('limits.max_tokens is 4096, not 12').and.not.contain('theme.mode')
      }
    })

    it('reports an unknown outcome if the earlier value is not known', async () => {
      await begin({ patched: (before) => lay(before, { theme: { mode: 'contrast' } }), answerPatch: reset })
      const { kind, message } = await failureOf(set(dark))
      expect(kind).to.equal('unknown_outcome')
      expect(message).to.contain('theme.mode is "contrast", not "dark"')
    })

    it('reports an unknown outcome if the settings cannot be read back', async () => {
      await begin({ ...ignored, answerPatch: reset, onRead: () => without(403, 'You may not read') })
      const { kind, message } = await failureOf(set(dark))
      expect(kind).to.equal('unknown_outcome')
      expect(message)
        .to.match(/^The outcome of the change is unknown: no response from /)
        .and.contain('The settings could not be read back: You may not read')
    })
  })

  it('names the changed keys that the plan does not contain, unless the earlier values are not known', async () => {
    const words = 'Also changed, although not part of this change: theme.primary_color changed from'
    for (const act of [apply, set]) {
      await begin({ patched: (before, patch) => ({ ...before, ...patch }) })
      await act(dark)
      expect(sideEffects()).to.deep.equal(act === apply ? [`${words} "#3366FF" to null`] : [])
    }
  })

  for (const [what, said] of [
    ['500', without(500)],
    ['422', without(422)],
    ['a reset', reset],
    ['an interrupted response', resetMidBody()],
  ] as const)
    it(`succeeds and reports the failed request if the change took effect despite ${what}`, async () => {
      // Without a reading before, chatctl accepts a refusal and does not read back.
      for (const act of what === '422' ? [apply] : [apply, set]) {
        await begin({ answerPatch: said })
        await act(dark)
        expect(server.settings.theme?.mode).to.equal('dark')
        expect(failedRequests()).to.have.length(1)
        expect(seen()).to.deep.equal([patchOf(dark), 'GET'])
      }
    })

  describe('when the service refuses the change', () => {
    for (const [status, kind] of [
      [400, 'rejected'],
      [401, 'unauthorized'],
      [403, 'forbidden'],
      [429, 'rate_limited'],
    ] as const)
      it(`fails with status ${status} if no reading finds a change`, async () => {
        for (const act of [apply, set]) {
          await begin({ ...ignored, answerPatch: without(status, 'It may not be') }, { maxWait: 0 })
          expect(await failureOf(act(two))).to.include({ message: 'It may not be', kind, status })
          const looks = act === apply && status !== 401 && status !== 429
          expect(seen()).to.deep.equal([patchOf(two), ...(looks ? ['GET'] : [])])
          expect(told.pauses).to.deep.equal([])
        }
      })

    it('reports the refusal even if the settings cannot be read back', async () => {
      await begin({ ...ignored, answerPatch: without(403, 'You may not write'), onRead: () => without(401) })
      expect((await failureOf(apply(dark))).message).to.equal('You may not write')
      await begin({ ...ignored, answerPatch: reset, onRead: () => without(500) }, { retries: 0 })
      expect((await failureOf(apply(dark))).kind).to.equal('unknown_outcome')
    })

    it('does not read back a change that was never sent', async () => {
      await begin()
      const { url } = server
      await server.close()
      expect((await failureOf(set(dark))).message).to.contain(`Cannot reach ${url}`)
    })
  })

  describe('when readings lag behind the change', () => {
    for (const [said, lag] of [
      [answer(204), 1],
      [json(200, someSettings), 3],
      [json(202, lay(someSettings, dark)), 5],
    ] as const)
      it(`reads again after ${lag} outdated ${lag === 1 ? 'reading' : 'readings'}`, async () => {
        await begin({ lag, answerPatch: said })
        await apply(dark)
        expect(told.pauses).to.deep.equal(readBackPauses.slice(0, lag))
        expect(sideEffects()).to.deep.equal([])
      })

    it('relies on a response with the new values, also after the API configuration was sent', async () => {
      await begin({ lag: 2 })
      await apply(two, version)
      expect(told.pauses).to.deep.equal([])
      expect(seen().filter((line) => line === 'GET')).to.have.length(2)
    })

    it('relies on the last reading that succeeded', async () => {
      await begin({ ...ignored, onRead: (index) => (index > 0 ? without(403) : undefined) })
      expect((await failureOf(apply(dark))).message).to.contain('theme.mode did not take')
    })
  })

  it('reports that a change was sent and could not be read back, which is not a refusal', async () => {
    const limit = failing(429, 'limit', 'Too many', { 'retry-after': '3000' })
    for (const said of [without(403, 'You may not read'), limit]) {
      await begin({ answerPatch: answer(204), onRead: () => said })
      const failure = await failureOf(apply(dark))
      expect(failure.kind).to.equal('unknown_outcome')
      expect(failure.message).to.match(
        /^The PATCH returned 204, but the settings could not be read back: (You may not read|Too many)$/,
      )
      expect(hintOf(failure)).to.contain('chatctl settings get theme.mode')
    }
  })

  it('relies on a response with every value, and warns, if the settings cannot be read', async () => {
    const forbidden = { onRead: () => without(403) }
    await begin({ ...forbidden, answerPatch: json(200, two) })
    expect((await set(two)).read).to.deep.equal(two)
    expect(told.warnings).to.have.length(1)
    await begin({ ...forbidden, answerPatch: json(200, dark) })
    expect((await failureOf(set(two))).kind).to.equal('unknown_outcome')
    expect(told.warnings).to.have.length(0)
  })

  it('passes on the error of the gate, and reads nothing', async () => {
    const held = new Error('held back')
    const gate = ({ method }: { method: string }) => {
      if (method !== 'GET') throw held
    }
    await begin({}, { gate })
    for (const settings of [dark, {}]) expect(await reasonOf(apply(settings, version))).to.equal(held)
    expect(seen()).to.deep.equal([])
  })

  it('stops on an interruption during the change', async () => {
    const stop = () => abort.abort(new Error('ended'))
    await begin({ answerPatch: stop, answerPost: stop })
    expect(await reasonOf(apply(dark))).to.equal(abort.signal.reason)
    expect(seen()).to.have.length(1)
    await begin({ answerPost: stop })
    expect(await reasonOf(apply({}, version))).to.equal(abort.signal.reason)
  })

  it('stops on an interruption while it waits to read again', async () => {
    await begin(ignored)
    setTimeout(() => abort.abort(new Error('ended')), 50)
    expect(await reasonOf(set(dark, { clock: systemClock }))).to.equal(abort.signal.reason)
  })

  it('returns the response to the PATCH and the settings that were read back', async () => {
    await begin({ answerPatch: json(200, { odd: 1 }) })
    const { response, read } = await set(dark)
    expect(response?.body).to.deep.equal({ odd: 1 })
    expect(read).to.deep.equal(lay(someSettings, dark))
    await begin({ answerPatch: without(500) })
    expect((await set(dark)).read).to.deep.equal(lay(someSettings, dark))
  })

  describe('with the API configuration', () => {
    it('sends all managed keys of the API configuration after the settings are verified', async () => {
      await begin()
      await apply(dark, { version: '2', cors: { allowed_methods: [] } })
      const post = 'POST {"version":"2","cors":{"allowed_methods":[]}}'
      expect(seen()).to.deep.equal([patchOf(dark), 'GET', post, 'GET'])
    })

    it('sends no API configuration if a setting did not take effect', async () => {
      await begin(ignored)
      await failureOf(apply(dark, version))
      expect(seen().join()).not.to.contain('POST')
    })

    it('detects settings that the API configuration changed', async () => {
      await begin({ posted: (before) => lay(before, { theme: { mode: 'x' }, app_name: 'y' }) })
      const words = 'theme.mode did not take effect: expected "dark", found "x" (the POST returned 200)'
      expect((await failureOf(apply(dark, version))).message).to.equal(words)
      expect(sideEffects().join()).to.contain('app_name changed from "Chat" to "y"')
    })

    it('reports the verified settings if setting the API configuration fails', async () => {
      await begin({ answerPost: without(403, 'You may not') })
      expect(await failureOf(apply(dark, version))).to.include({
        ...{ kind: 'forbidden', status: 403 },
        message: 'The settings were changed and verified; setting the API configuration failed: You may not',
      })
      expect((await failureOf(apply({}, version))).message).to.equal('You may not')
    })

    it('reports an unknown outcome after a lost response, because it cannot be read back', async () => {
      await begin({ answerPost: without(500, 'Broken') })
      const failure = await failureOf(apply({}, version))
      expect(failure).to.include({ kind: 'unknown_outcome', message: `${unknown}Broken` })
      expect(hintOf(failure)).to.contain('cannot be read back')
      const both = await failureOf(apply(dark, version))
      expect(both.kind).to.equal('unknown_outcome')
      expect(both.message).to.equal(
        'The settings were changed and verified; the outcome of setting the API configuration is unknown: Broken',
      )
    })
  })
})

describe('a plan that is applied later', () => {
  const file = { settings: two, api: { version: '2', rate_limiting: { enabled: true } } }
  const sent = { sentAt: '2026-01-02T03:04:05.000Z', configuration: { version: '1' } }
  const later = new Date(Date.now() + 60_000).toISOString()
  const plan = makePlan('local', file, someSettings, { api: sent }, systemClock)

  it('is current while no managed key has changed', () => {
    const now = lay(someSettings, { app_name: 'other', theme: { primary_color: '#000000' } })
    assertCurrent(plan, now, { sentAt: later, configuration: { version: '1', cors: {} } })
  })

  it('is current on a machine that has sent nothing since the plan was made', () => {
    assertCurrent(plan, someSettings, undefined)
    assertCurrent(plan, someSettings, { sentAt: sent.sentAt, configuration: { version: '9' } })
    assertCurrent(makePlan('local', file, someSettings, {}, systemClock), someSettings, sent)
  })

  it('is outdated if managed keys have changed, and names each of them', () => {
    const now = lay(someSettings, { theme: { mode: 'other' }, limits: { max_tokens: 5 } })
    const resent = { sentAt: later, configuration: { version: '9' } }
    const { kind, message, hint, details } = thrownFailure(() => assertCurrent(plan, now, resent, 'Do this'))
    expect({ kind, hint }).to.deep.equal({ kind: 'conflict', hint: 'Do this' })
    expect(message).to.equal(
      'The settings have changed since the differences were shown, or the plan was saved: theme.mode was "light" and is now "other"; limits.max_tokens was 4096 and is now 5; ' +
        `api.version was "1" and is now "9" (the API configuration was sent from this machine at ${later})`,
    )
    const mode = { path: 'theme.mode', was: 'light', is: 'other' }
    const tokens = { path: 'limits.max_tokens', was: 4096, is: 5 }
    expect(details).to.deep.equal({ keys: [mode, tokens, { path: 'api.version', was: '1', is: '9' }] })
  })
})

describe('two concurrent changes of the settings of one service', () => {
  const home = perTest(makeEmptyDirectory)
  const server = perTest(() => serveHandler(Object.assign(new SettingsHandler(), { settings: someSettings })))
  const client = perTest(() => new Client({ baseUrl: server.url, internal: { clock: hurriedClock() } }))
  let told: string[]
  beforeEach(() => {
    told = []
  })

  const runOf = (parts: Partial<Run>) =>
    runWith({
      directories: new Directories({ HOME: home.path }),
      clock: hurriedClock(),
      connect: async () => client,
      say: (words) => void told.push(words),
      warn: async (words) => void told.push(words),
      ...parts,
    })
  const filed = (mode: string) => ({ settings: { theme: { mode } }, api: {} })
  const carry = (mode: string, confirm: () => Promise<void>, more: Partial<ApplyOptions> = {}) => {
    const plan = makePlan(server.url, filed(mode), someSettings, {}, systemClock)
    return confirmAndApply(runOf({ service: server.url, confirm }), plan, { yes: false, hint: '', ...more })
  }

  it('run one after the other, so that the second is refused if its keys have changed', async () => {
    const confirm = barrier(2)
    const outcomes = await Promise.allSettled([carry('dark', confirm), carry('contrast', confirm)])
    const [refusal, ...others] = outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
    expect(others).to.deep.equal([])
    expect(refusal).to.have.property('kind', 'conflict')
    expect(refusal.message).to.match(
      /^The settings have changed since the differences were shown, or the plan was saved: theme\.mode was "light"/,
    )
    expect(server.requests.filter(({ method }) => method === 'PATCH')).to.have.length(1)
    expect(told.join()).to.match(/^Waiting for another chatctl process [^,]+$/)
  })

  it('both succeed if the second can make a new plan', async () => {
    const confirm = barrier(2)
    const refresh = filed('x')
    await Promise.all([carry('x', confirm, { refresh }), carry('dark', confirm, { refresh })])
    expect(server.settings).to.deep.equal(lay(someSettings, { theme: { mode: 'x' } }))
  })

  it('wait for each other even after a failure, but not for another service', async () => {
    const order: string[] = []
    const hold = (name: string, to: string, work: () => Promise<void>) =>
      withSettingsLock(runOf({ service: to }), async () => {
        order.push(`${name} begins`)
        await work()
        order.push(`${name} ends`)
      })
    const { promise: failed, reject } = Promise.withResolvers<void>()
    const first = hold('first', 'a', () => failed)
    const second = hold('second', 'a', async () => {})
    await hold('other', 'b', async () => {})
    expect(order).to.deep.equal(['first begins', 'other begins', 'other ends'])
    reject(new Error('broken'))
    expect(await reasonOf(first)).to.have.property('message', 'broken')
    await second
    expect(order.slice(3)).to.deep.equal(['second begins', 'second ends'])
  })

  it('stop on an interruption while one waits for the other', async () => {
    const abort = new AbortController()
    const reason = await withSettingsLock(runOf({}), () => {
      const waiting = withSettingsLock(runOf({ signal: abort.signal }), async () => {})
      setImmediate(() => abort.abort(new Error('ended')))
      return reasonOf(waiting)
    })
    expect(reason).to.equal(abort.signal.reason)
  })

  it('run with a warning if the lock cannot be created', async () => {
    mkdirSync(join(home.path, '.local'))
    writeFileSync(join(home.path, '.local', 'state'), 'in the way')
    expect(await withSettingsLock(runOf({}), async () => 'done')).to.equal('done')
    expect(told.join()).to.match(/^Cannot lock the settings, .+: .+ \(ENOTDIR\)$/)
  })
})
