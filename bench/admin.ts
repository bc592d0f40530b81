import { measureApply } from './apply-settings.ts'
import { measureDiff, measureDiffMemory } from './diff-users.ts'
import { measureImport, measureImportMemory } from './import-users.ts'
import type { BoundedFigure } from './measure.ts'

/** For measurements that take half a minute per round. */
const longRounds = 3

/** Measures one change of settings, an import of many users, the memory of a large import, and a comparison of many users. */
export async function benchAdmin(rounds: number): Promise<BoundedFigure[]> {
  return [
    await benchApply(rounds),
    ...(await benchImport(Math.min(rounds, longRounds))),
    await benchMemory(),
    ...(await benchDiff(Math.min(rounds, longRounds))),
  ]
}

async function benchDiff(rounds: number): Promise<BoundedFigure[]> {
  const { users, diff, apply, bareUndici } = await measureDiff(rounds)
  const rate = (ms: number) => `${Math.round(users / (ms / 1000))}/s`
  print(`comparison of ${users} users, median of ${rounds} rounds in turn`)
  line('users diff', rate(diff), `${(bareUndici / diff).toFixed(2)} of bare undici`)
  line('users apply', rate(apply), `${(bareUndici / apply).toFixed(2)} of bare undici`)
  line('bare undici', rate(bareUndici))
  const memory = await measureDiffMemory()
  const megabytes = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(0)} MB`
  const ratio = memory.chatctl / memory.bare
  print(`peak memory of users diff --no-refresh of ${memory.users} users`)
  line('bare script', megabytes(memory.bare))
  line('chatctl', megabytes(memory.chatctl), `${ratio.toFixed(2)} of that`)
  return [
    { name: 'rate of users diff, of bare undici', value: bareUndici / diff, bound: { least: 0.9 } },
    { name: 'rate of users apply, of bare undici', value: bareUndici / apply, bound: { least: 0.9 } },
    { name: 'memory of users diff, of the bare script', value: ratio, bound: { most: 1.75 } },
  ]
}

async function benchApply(rounds: number): Promise<BoundedFigure> {
  const { chatctl, bareUndici, ratio } = await measureApply(rounds)
  print(`settings apply of one change, median of ${rounds} rounds in turn, Node ${process.versions.node}`)
  line('settings apply', `${chatctl.toFixed(1)} ms`, `${ratio.toFixed(2)} of bare undici`)
  line('bare undici', `${bareUndici.toFixed(1)} ms`)
  return { name: 'settings apply, of bare undici', value: ratio, bound: { most: 2 } }
}

async function benchImport(rounds: number): Promise<BoundedFigure[]> {
  const { users, chatctl, bareUndici, ratio, cpu, oneSync } = await measureImport(rounds)
  const rate = (ms: number) => `${Math.round(users / (ms / 1000))}/s`
  print(`import of ${users} users, median of ${rounds} rounds in turn`)
  line('users import', rate(chatctl), `${ratio.toFixed(2)} of bare undici`)
  line('bare undici', rate(bareUndici))
  line('one fdatasync', `${oneSync.toFixed(3)} ms`)
  const cpuRatio = cpu.chatctl / cpu.bareUndici
  line('CPU per row', `${cpu.chatctl.toFixed(3)} ms`, `${cpuRatio.toFixed(2)} of bare undici`)
  return [
    { name: 'rate of users import, of bare undici', value: ratio, bound: { least: 0.8 } },
    { name: 'CPU of users import per row, of bare undici', value: cpuRatio, bound: { most: 1.8 } },
  ]
}

async function benchMemory(): Promise<BoundedFigure> {
  const { users, chatctl, bareUndici, ratio } = await measureImportMemory()
  const megabytes = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(0)} MB`
  print(`peak memory of an import of ${users} users`)
  line('bare undici', megabytes(bareUndici))
  line('chatctl', megabytes(chatctl), `${ratio.toFixed(2)} of that`)
  return { name: 'memory of users import, of bare undici', value: ratio, bound: { most: 1.5 } }
}

function line(name: string, figure: string, words = ''): void {
  print(`${name.padEnd(20)} ${figure.padStart(10)}  ${words}`.trimEnd())
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}
