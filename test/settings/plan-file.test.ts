import { expect } from 'chai'
import fc from 'fast-check'
import { hintOf } from '../../src/cli/errors/hints.ts'
import { nest } from '../../src/contract/notation/tree.ts'
import type { ApplicationSettings } from '../../src/contract/resources/settings.ts'
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
import { makeEmptyDirectory } from '../support/empty-directory.ts'
import { lay } from '../support/handlers/settings.ts'
import { perTest } from '../support/lifetime.ts'
import { thrownFailure } from '../support/thrown-failure.ts'
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
    expect(failure.kind).to.equal('conflict')
    expect(failure.message).to.equal(
      'The plan a.plan is for https://chat.example/base, not for the embedded service',
    )
    expect(hintOf(failure)).to.contain(newPlan)
  })

  it('is for one version of chatctl, unless it is refreshed', () => {
    const text = compose('1.2.4')
    const failure = failureFor(text)
    expect(failure.kind).to.equal('conflict')
    expect(failure.message).to.equal('The plan a.plan was made by chatctl 1.2.4, but this is chatctl 1.2.3')
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
    const plan = planFor({ settings: { theme: { mode: 'dark' } }, api: { version: '2' } }, {
      theme: null,
    } as never)
    expect(plan.api?.sentAt).to.equal(null)
    expect(changesOf(plan)).to.deep.equal([
      { path: 'theme.mode', from: null, to: 'dark' },
      { path: 'api.version', from: null, to: '2' },
    ])
  })

  it('ignores the case of colors, but not of other texts', () =>
    expect(changedBy({ app_name: 'CHAT', theme: { primary_color: '#3366ff' } }, someSettings)).to.deep.equal([
      'app_name',
    ]))

  it('treats 0 and -0 as equal, as JSON does', () => {
    const zero = lay(someSettings, { limits: { max_tokens: 0 } })
    expect(changedBy({ limits: { max_tokens: -0 } }, zero)).to.deep.equal([])
  })

  it('has the key order of the contract, not that of the file', () =>
    expect(changedBy({ limits: { max_tokens: 1 }, theme: { mode: 'x' }, app_name: 'y' }, {})).to.deep.equal([
      ...['app_name', 'theme.mode', 'limits.max_tokens'],
    ]))
})

function lower(settings: object): object {
  const leaves = new Map(valuesOf(settings))
  leaves.set('theme.primary_color', String(leaves.get('theme.primary_color')).toLowerCase())
  return nest(leaves)
}
