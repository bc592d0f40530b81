import { mkdirSync, writeFileSync } from 'node:fs'
import { expect } from 'chai'
import { activityFiles } from '../../src/activity/activity-log.ts'
import { readActivity } from '../../src/activity/read-activity.ts'
import { perTest } from '../support/lifetime.ts'
import { stateOf } from '../support/recorded-activity.ts'
import { createSandbox } from '../support/sandbox.ts'

const sent = (id: string, more: object = {}) =>
  JSON.stringify({
    v: 1,
    id,
    at: '2026-03-01T12:00:00.000Z',
    profile: null,
    service: 'local',
    command: id,
    method: 'PATCH',
    path: '/v1/settings',
    fields: [],
    ...more,
  })
const outcome = (id: string, known: string, more: object = {}) =>
  JSON.stringify({ id, outcome: known, ...more })

describe('the reader of the activity record', () => {
  const sandbox = perTest(createSandbox)

  /** @param files the lines of each file, the current one first */
  function read(...files: readonly (readonly string[])[]) {
    const state = stateOf(sandbox)
    mkdirSync(state, { recursive: true })
    const paths = activityFiles(state)
    for (const [age, lines] of files.entries())
      writeFileSync(paths[age] ?? '', lines.map((line) => `${line}\n`).join(''))
    let unreadable = 0
    const entries = [...readActivity(state, () => unreadable++)]
    return { unreadable, outcomes: entries.map((entry) => `${entry.command} ${entry.outcome}`) }
  }

  it('finds nothing if there is no log', () =>
    expect([...readActivity(stateOf(sandbox), expect.fail)]).to.deep.equal([]))

  it('finds the outcomes of changes that overlap, newest change first', () => {
    const lines = [sent('a'), sent('b'), outcome('b', 'done'), sent('c'), outcome('a', 'refused')]
    expect(read(lines).outcomes).to.deep.equal(['c unknown', 'b done', 'a refused'])
  })

  it('applies the last outcome of a change', () => {
    const lines = [sent('a'), outcome('a', 'refused'), outcome('a', 'unknown'), outcome('a', 'done')]
    expect(read(lines)).to.deep.equal({ unreadable: 0, outcomes: ['a done'] })
    expect(read(lines.slice(0, 3)).outcomes).to.deep.equal(['a unknown'])
  })

  it('finds an outcome in a later file, and ignores one whose change was deleted', () => {
    const read4 = read([sent('d'), outcome('b', 'done')], [sent('c')], [], [outcome('x', 'done'), sent('b')])
    expect(read4).to.deep.equal({ unreadable: 0, outcomes: ['d unknown', 'c unknown', 'b done'] })
  })

  it('skips and counts lines that it cannot read', () => {
    const lines = [
      sent('a'),
      sent('a').slice(0, 40),
      'null',
      sent('newer', { v: 2 }),
      sent('odd', { fields: 'name' }),
      sent('odd', { at: 'yesterday' }),
      '{"id":"a","outcome":"maybe"}',
      '',
      outcome('a', 'done'),
    ]
    expect(read(lines)).to.deep.equal({ unreadable: 6, outcomes: ['a done'] })
  })

  it('keeps numbers in values as they were sent', () => {
    const state = stateOf(sandbox)
    mkdirSync(state, { recursive: true })
    const line = sent('a').replace(/\}$/, ',"values":{"n":9007199254740993}}')
    writeFileSync(activityFiles(state)[0] ?? '', `${line}\n`)
    const [entry] = readActivity(state, expect.fail)
    expect(JSON.stringify(entry?.values)).to.equal('{"n":9007199254740993}')
  })
})
