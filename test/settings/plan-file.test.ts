import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { hintOf } from '../../src/cli/errors/hints.ts'
import { type Change, makePlan, type Plan } from '../../src/settings/plan.ts'
import {
  composePlanFile,
  hashOf,
  isApplied,
  isPlanFile,
  markApplied,
  type PlanContext,
  readPlanFile,
  refusalOf,
} from '../../src/settings/plan-file.ts'
import { systemClock } from '../../src/system/clock.ts'
import { Directories } from '../../src/system/files/directories.ts'
import { thrownFailure } from '../support/thrown-failure.ts'
import { anyConfiguration, anyPatch, anySettings, anySubset, someSettings } from './any-settings.ts'
import { useStateDirectory } from './state-directory.ts'

const service = 'https://chat.example/base'
const env: NodeJS.ProcessEnv = {}
const directories = new Directories(env)
const about: PlanContext = { directories, service, toolVersion: '1.2.3' }

const anyPlan: fc.Arbitrary<Plan> = fc
  .tuple(anyPatch, fc.option(anySubset(anyConfiguration)), anySettings, fc.option(anyConfiguration))
  .map(([settings, api, current, configuration]) =>
    makePlan(
      service,
      { settings, api: api ?? {} },
      current,
      configuration === null ? undefined : { sentAt: '2026-01-02T03:04:05.000Z', configuration },
      systemClock,
    ),
  )

const file = { settings: { theme: { mode: 'dark' }, limits: { max_tokens: 12 } }, api: { version: '2' } }
const plan = makePlan(service, file, someSettings, undefined, systemClock)

function read(text: string, context = about) {
  const saved = readPlanFile({ name: 'a.plan', text }, context.toolVersion)
  const refusal = refusalOf(saved, 'a.plan', context)
  if (refusal) throw refusal
  return saved
}

/** The plan file after a change, with a new checksum. */
function forged(change: (content: Record<string, unknown>) => void): string {
  const { checksum: _, ...content } = JSON.parse(composePlanFile(plan, '1.2.3', systemClock))
  const base = content.base_hash
  change(content)
  if (content.base_hash === base) {
    const found = ({ path, from }: Change) => [path, from]
    const api = content.api.managed.map(found).map(([path, from]: [string, unknown]) => [`api.${path}`, from])
    content.base_hash = hashOf([...content.settings.map(found), ...api])
  }
  return JSON.stringify({ ...content, checksum: hashOf(content) })
}

describe('a plan file', () => {
  const state = useStateDirectory(env)

  it('restores the saved plan', () => {
    fc.assert(
      fc.property(anyPlan, (saved) => {
        const text = composePlanFile(saved, '1.2.3', systemClock)
        expect(isPlanFile(text)).to.equal(true)
        expect(read(text).plan).to.deep.equal(saved)
      }),
    )
  })

  it('can be formatted differently with the same content', () => {
    expect(
      read(JSON.stringify(backwards(JSON.parse(composePlanFile(plan, '1.2.3', systemClock))))).plan,
    ).to.deep.equal(plan)
  })

  it('is rejected after any change of a character that alters its content', () => {
    const text = composePlanFile(plan, '1.2.3', systemClock)
    const anyCharacter = fc.oneof(
      fc.constantFrom(...'0123456789abcdef"{}[]:, \n-.eE+\\'),
      fc.string({ minLength: 1, maxLength: 1 }),
    )
    fc.assert(
      fc.property(fc.nat(text.length - 1), anyCharacter, fc.constantFrom(0, 1), (at, character, removed) => {
        const altered = text.slice(0, at) + character + text.slice(at + removed)
        if (meaningOf(altered) === meaningOf(text)) expect(read(altered).plan).to.deep.equal(plan)
        else expect(thrownFailure(() => read(altered)).kind).to.equal('refused')
      }),
      { numRuns: 3 * (fc.readConfigureGlobal().numRuns ?? 100) },
    )
  })

  it('is rejected after any change of a value', () => {
    const paths = [...placesIn(JSON.parse(composePlanFile(plan, '1.2.3', systemClock)))]
    expect(paths.length).to.be.above(15)
    for (const path of paths) {
      for (const value of ['x', 7, null, Infinity, true]) {
        const content = JSON.parse(composePlanFile(plan, '1.2.3', systemClock))
        const holder = path.slice(0, -1).reduce((here, step) => here[step], content)
        const last = path.at(-1) ?? ''
        if (holder[last] === value) continue
        holder[last] = value
        // JSON.stringify cannot write Infinity, but JSON.parse reads it from 1e400.
        const text = JSON.stringify(content, (_, inner) => (inner === Infinity ? 'INFINITY' : inner))
        const failure = thrownFailure(() => read(text.replace('"INFINITY"', '1e400')))
        expect(failure.kind, `${path.join('.')} as ${value}`).to.equal('refused')
      }
    }
  })

  it('is not a settings file, and a settings file is not a plan', () => {
    for (const text of ['{}', '[]', 'null', '"chatctl-plan"', 'app_name: x', '', '{"format": "other"}']) {
      expect(isPlanFile(text), text).to.equal(false)
      expect(thrownFailure(() => read(text)).kind).to.equal('refused')
    }
  })

  it('is recognized and rejected if it is truncated', () => {
    const text = composePlanFile(plan, '1.2.3', systemClock).trimEnd()
    for (const length of [40, 200, text.length - 1]) {
      const cut = text.slice(0, length)
      expect(isPlanFile(cut), cut).to.equal(true)
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

  it('can be sent once, unless it is refreshed', () => {
    const text = composePlanFile(plan, '1.2.3', systemClock)
    const { id } = read(text)
    expect(isApplied(directories, id)).to.equal(false)
    markApplied(directories, id)
    markApplied(directories, id)
    expect(isApplied(directories, id)).to.equal(true)
    const failure = thrownFailure(() => read(text))
    expect(failure.kind).to.equal('conflict')
    expect(failure.message).to.equal('The plan a.plan was already sent')
    expect(read(text, { ...about, refresh: true }).plan).to.deep.equal(plan)
    expect(read(composePlanFile(plan, '1.2.3', systemClock)).plan, 'another of the same').to.deep.equal(plan)
    const directory = join(state.path(), 'applied-plans')
    expect(readdirSync(directory)).to.deep.equal([id])
    expect(statSync(directory).mode & 0o777).to.equal(0o700)
    expect(statSync(join(directory, id)).mode & 0o777).to.equal(0o600)
  })

  it('is rejected if chatctl cannot have written it, even with a valid checksum', () => {
    const changes: Record<string, (content: Record<string, unknown>) => void> = {
      'an id that leads elsewhere': (content) => (content['id'] = '../../x'),
      'an unknown field': (content) => (content['more'] = 1),
      'an undocumented key with an empty name': (content) =>
        (content['settings'] = [{ path: 'foo..bar', from: null, to: 1 }]),
      'an undocumented key with keys': (content) =>
        (content['settings'] = [{ path: 'foo', from: null, to: { bar: 1 } }]),
      'an undocumented key in another': (content) =>
        (content['settings'] = ['foo', 'foo.bar'].map((path) => ({ path, from: null, to: 1 }))),
      'a key below a documented one': (content) =>
        (content['settings'] = [{ path: 'theme.mode.x', from: null, to: 1 }]),
      'an unknown key of the API configuration': (content) =>
        Object.assign(content['api'] as object, { managed: [{ path: 'foo', from: null, to: 1 }] }),
      'a group for a key': (content) =>
        (content['settings'] = [{ path: 'theme', from: null, to: { mode: 'x' } }]),
      'a value of another type': (content) =>
        (content['settings'] = [{ path: 'theme.mode', from: null, to: 5 }]),
      'no value': (content) => (content['settings'] = [{ path: 'theme.mode', from: null }]),
      'a key twice': (content) =>
        (content['settings'] = Array(2).fill({ path: 'theme.mode', from: 'x', to: 'y' })),
      'another base': (content) => (content['base_hash'] = '0'.repeat(64)),
    }
    expect(read(forged(() => {})).plan, 'unchanged').to.deep.equal(plan)
    for (const [what, change] of Object.entries(changes)) {
      const failure = thrownFailure(() => read(forged(change)))
      expect(failure.kind, what).to.equal('refused')
      expect(failure.message, what).to.equal('a.plan is not a plan made by chatctl')
    }
  })

  it('can contain keys that are not documented', () => {
    const settings = [{ path: 'foo.bar', from: null, to: [{ a: 1 }] }]
    const unknown = { service, settings }
    expect(read(composePlanFile(unknown, '1.2.3', systemClock)).plan).to.deep.equal(unknown)
  })

  it('is rejected if it is nested too deep', () => {
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
    expect(thrownFailure(() => read(`{"format": "chatctl-plan", "v": ${deep}}`)).kind).to.equal('refused')
  })

  it('is rejected with the name of the later version if that version wrote it', () => {
    const failure = thrownFailure(() =>
      read(forged((content) => Object.assign(content, { v: 2, tool: '9.0.0' }))),
    )
    expect(failure.kind).to.equal('conflict')
    expect(failure.message).to.contain('made by chatctl 9.0.0')
  })
})

/** The content of a text in a form that can be compared, undefined if the text is not JSON. */
function meaningOf(text: string): string | undefined {
  try {
    return JSON.stringify(sorted(JSON.parse(text)))
  } catch {
    return undefined
  }
}

function sorted(value: unknown): unknown {
  if (value === Infinity) return 'Infinity'
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value)
    .map(([name, inner]) => [name, sorted(inner)])
    .sort(([one], [other]) => (String(one) < String(other) ? -1 : 1))
}

/** The same value with the keys of every object in reverse order. */
function backwards(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(backwards)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).reverse()
  return Object.fromEntries(entries.map(([name, inner]) => [name, backwards(inner)]))
}

function* placesIn(value: unknown, above: string[] = []): Generator<string[]> {
  if (typeof value !== 'object' || value === null) yield above
  else for (const [name, inner] of Object.entries(value)) yield* placesIn(inner, [...above, name])
}
