import { expect } from 'chai'
import fc from 'fast-check'
import { nest } from '../../src/contract/notation/tree.ts'
import { changesOf, makePlan, requestsOf, settingsFileOf, valuesOf } from '../../src/settings/plan.ts'
import { systemClock } from '../../src/system/clock.ts'
import { lay } from '../support/handlers/settings.ts'
import { anyConfiguration, anyPatch, anySettings, anySubset, someSettings } from './any-settings.ts'

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
