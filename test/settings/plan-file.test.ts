import { expect } from 'chai'
import fc from 'fast-check'
import { hintOf } from '../../src/cli/errors/hints.ts'
import { nest } from '../../src/contract/notation/tree.ts'
import { Ledger } from '../../src/ledger/ledger.ts'
import { LedgerRun } from '../../src/ledger/ledger-run.ts'
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
import { lay } from '../support/handlers/settings.ts'
import { thrownFailure } from '../support/thrown-failure.ts'
import { anyConfiguration, anyPatch, anySettings, anySubset, someSettings } from './any-settings.ts'
import { useStateDirectory } from './state-directory.ts'

const service = 'https://chat.example/base'
const env: NodeJS.ProcessEnv = {}
const directories = new Directories(env)
const about = { directories, service, clock: systemClock, toolVersion: '1.2.3' }

const anyPlan: fc.Arbitrary<Plan> = fc
  .tuple(anyPatch, fc.option(anySubset(anyConfiguration)), anySettings, fc.option(anyConfiguration))
  .map(([settings, api, current, configuration]) =>
    makePlan(
      service,
      { settings, api: api ?? {} },
      current,
      configuration === null ? {} : { api: { sentAt: '2026-01-02T03:04:05.000Z', configuration } },
      systemClock,
    ),
  )

const file = { settings: { theme: { mode: 'dark' }, limits: { max_tokens: 12 } }, api: { version: '2' } }
const plan = makePlan(service, file, someSettings, {}, systemClock)

function read(text: string, context: typeof about & PlanUse = about) {
  const saved = readPlanFile({ name: 'a.plan', text }, context.toolVersion)
  const refusal = refusalOf(context, saved, 'a.plan', context)
  if (refusal) throw refusal
  return saved
}

describe('a plan file', () => {
  useStateDirectory(env)

  it('restores the saved plan', () =>
    fc.assert(
      fc.property(anyPlan, (saved) => {
        const text = composePlanFile(saved, '1.2.3', systemClock)
        expect(isPlan(text, settingsPlan)).to.equal(true)
        expect(read(text).plan).to.deep.equal(saved)
      }),
    ))

  it('is rejected after any change of a character that alters its content', () => {
    const text = composePlanFile(plan, '1.2.3', systemClock)
    const anyCharacter = fc.oneof(
      fc.constantFrom(...'0123456789abcdef"{}[]:, \n-.eE+\\'),
      fc.string({ minLength: 1, maxLength: 1 }),
    )
    fc.assert(
      fc.property(fc.nat(text.length - 1), anyCharacter, fc.constantFrom(0, 1), (at, character, removed) => {
        const altered = text.slice(0, at) + character + text.slice(at + removed)
        if (altered.trimEnd() === text.trimEnd()) expect(read(altered).plan).to.deep.equal(plan)
        else expect(thrownFailure(() => read(altered)).kind).to.equal('refused')
      }),
      { numRuns: 3 * (fc.readConfigureGlobal().numRuns ?? 100) },
    )
  })

  it('is not a settings file, and a settings file is not a plan', () => {
    for (const text of ['{}', '[]', 'null', '"chatctl-plan"', 'app_name: x', '', '{"format": "other"}']) {
      expect(isPlan(text, settingsPlan), text).to.equal(false)
      expect(thrownFailure(() => read(text)).kind).to.equal('refused')
    }
  })

  it('is recognized and rejected if it is truncated', () => {
    const text = composePlanFile(plan, '1.2.3', systemClock).trimEnd()
    for (const length of [40, 200, text.length - 1]) {
      const cut = text.slice(0, length)
      expect(isPlan(cut, settingsPlan), cut).to.equal(true)
      expect(thrownFailure(() => read(cut)).message).to.contain('was changed or truncated')
    }
  })

  it('is for one service only', () => {
    const failure = thrownFailure(() =>
      read(composePlanFile(plan, '1.2.3', systemClock), { ...about, service: 'local', refresh: true }),
    )
    expect(failure.kind).to.equal('conflict')
    expect(failure.message).to.equal(
      'The plan a.plan is for https://chat.example/base, not for the embedded service',
    )
    expect(hintOf(failure)).to.contain('chatctl settings diff FILE --save PLAN')
  })

  it('is for one version of chatctl, unless it is refreshed', () => {
    const text = composePlanFile(plan, '1.2.4', systemClock)
    const failure = thrownFailure(() => read(text))
    expect(failure.kind).to.equal('conflict')
    expect(failure.message).to.equal('The plan a.plan was made by chatctl 1.2.4, but this is chatctl 1.2.3')
    expect(hintOf(failure)).to.contain('chatctl settings diff FILE --save PLAN')
    expect(read(text, { ...about, refresh: true }).plan).to.deep.equal(plan)
  })

  it('can be sent once, unless it is refreshed', async () => {
    const text = composePlanFile(plan, '1.2.3', systemClock)
    const { id } = read(text)
    const ledger = Ledger.of(directories, service)
    const run = new LedgerRun(ledger, { command: 'settings apply', service }, systemClock)
    await run.note({ plan: id })
    run.close()
    const failure = thrownFailure(() => read(text))
    expect(failure.kind).to.equal('conflict')
    expect(failure.message).to.equal('The plan a.plan was already sent')
    expect(read(text, { ...about, refresh: true }).plan).to.deep.equal(plan)
    expect(read(composePlanFile(plan, '1.2.3', systemClock)).plan, 'another of the same').to.deep.equal(plan)
  })

  it('can contain keys that are not documented', () => {
    const settings = [{ path: 'foo.bar', from: null, to: [{ a: 1 }] }]
    const unknown = { service, settings }
    expect(read(composePlanFile(unknown, '1.2.3', systemClock)).plan).to.deep.equal(unknown)
  })

  it('is rejected with an id that leads elsewhere, even with a valid checksum', () => {
    const { id: _, ...content } = read(composePlanFile(plan, '1.2.3', systemClock))
    const text = composePlan(settingsPlan, { ...content, id: '../../x' })
    expect(thrownFailure(() => read(text)).message).to.equal('a.plan is not a plan made by chatctl')
  })
})

const sentAt = '2026-01-02T03:04:05.000Z'

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
  it('turns the current settings into the wanted ones, after which nothing differs', () =>
    fc.assert(
      fc.property(anySettings, anyPatch, (current, settings) => {
        const wanted = { settings, api: {} }
        const { patch } = requestsOf(makePlan('local', wanted, current, {}, systemClock))
        const after = lay(current, patch ?? {})
        expect(changesOf(makePlan('local', wanted, after, {}, systemClock))).to.deep.equal([])
        expect(lower(after)).to.deep.equal(lower(lay(current, settings)))
      }),
    ))

  it('sends only keys that differ', () =>
    fc.assert(
      fc.property(anySettings, anyPatch, (current, settings) => {
        const plan = makePlan('local', { settings, api: {} }, current, {}, systemClock)
        const { patch = {} } = requestsOf(plan)
        expect([...valuesOf(patch).keys()]).to.deep.equal(changesOf(plan).map(({ path }) => path))
        for (const { from, to } of changesOf(plan)) expect(from).not.to.deep.equal(to)
      }),
    ))

  it('sends all managed keys of the API configuration if any of them differs, else none', () =>
    fc.assert(
      fc.property(anyConfiguration, anySubset(anyConfiguration), (configuration, api) => {
        const plan = makePlan(
          'local',
          { settings: {}, api },
          {},
          { api: { sentAt, configuration } },
          systemClock,
        )
        const isThere = JSON.stringify(lay(configuration, api)) === JSON.stringify(configuration)
        expect(requestsOf(plan)).to.deep.equal({ patch: undefined, configuration: isThere ? undefined : api })
      }),
    ))

  it('preserves the content of the settings files', () =>
    fc.assert(
      fc.property(anySettings, anyPatch, anySubset(anyConfiguration), (current, settings, api) => {
        const shown = settingsFileOf(makePlan('local', { settings, api }, current, {}, systemClock))
        expect(shown).to.deep.equal({ settings, api })
      }),
    ))

  it('has null for values that the service lacks', () => {
    const wanted = { settings: { theme: { mode: 'dark' } }, api: { version: '2' } }
    const plan = makePlan('local', wanted, { theme: null }, {}, systemClock)
    expect(plan.api?.sentAt).to.equal(null)
    expect(changesOf(plan)).to.deep.equal([
      { path: 'theme.mode', from: null, to: 'dark' },
      { path: 'api.version', from: null, to: '2' },
    ])
  })

  it('ignores the case of colors, but not of other texts', () => {
    const wanted = { settings: { app_name: 'CHAT', theme: { primary_color: '#3366ff' } }, api: {} }
    const changes = changesOf(makePlan('local', wanted, someSettings, {}, systemClock))
    expect(changes.map(({ path }) => path)).to.deep.equal(['app_name'])
  })

  it('treats 0 and -0 as equal, as JSON does', () => {
    const plan = makePlan(
      'local',
      { settings: { limits: { max_tokens: -0 } }, api: {} },
      lay(someSettings, { limits: { max_tokens: 0 } }),
      {},
      systemClock,
    )
    expect(changesOf(plan)).to.deep.equal([])
  })

  it('has the key order of the contract, not that of the file', () => {
    const wanted = { settings: { limits: { max_tokens: 1 }, theme: { mode: 'x' }, app_name: 'y' }, api: {} }
    const shown = makePlan('local', wanted, {}, {}, systemClock).settings.map(({ path }) => path)
    expect(shown).to.deep.equal(['app_name', 'theme.mode', 'limits.max_tokens'])
  })
})

function lower(settings: object): object {
  const leaves = new Map(valuesOf(settings))
  leaves.set('theme.primary_color', String(leaves.get('theme.primary_color')).toLowerCase())
  return nest(leaves)
}
