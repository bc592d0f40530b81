import { existsSync } from 'node:fs'
import { configurationPath } from '../config/configuration-file.ts'
import { Failure } from '../failure.ts'
import type { Context } from './create-context.ts'
import { exitCodeOf } from './exit-codes.ts'

export interface Check {
  check: string
  status: 'ok' | 'warning' | 'failed'
  message: string
  hint: string | null
}

/** A clock that is further off, in ms, makes tokens and waits go wrong. */
const clockTolerance = 60_000

/** Looks at one thing after the other; a check that fails does not stop the next, unless it needs it. */
export async function examine(context: Context): Promise<{ checks: Check[]; exitCode: number }> {
  const checks: Check[] = [
    ok('node', `Node.js ${process.versions.node}`),
    ok('configuration', existsSync(configurationPath()) ? configurationPath() : 'none yet'),
  ]
  let exitCode = 0
  try {
    const target = context.target()
    checks.push(ok('address', target.kind === 'local' ? 'the embedded service' : target.baseUrl))
    checks.push(ok('credential', context.credentialSource()))
    const client = await context.connect()
    const startedAt = Date.now()
    const answer = await client.users.profile()
    checks.push(
      ok('service', `answers in ${Date.now() - startedAt} ms as ${answer.body?.email ?? answer.body?.id}`),
    )
    checks.push(examineClock(answer.headers['date']))
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const names = ['address', 'credential', 'service']
    const check = names[checks.length - 2] ?? 'service'
    checks.push({ check, status: 'failed', message: error.message, hint: error.hint ?? null })
    exitCode = exitCodeOf(error.kind)
  }
  return { checks, exitCode }
}

function ok(check: string, message: string): Check {
  return { check, status: 'ok', message, hint: null }
}

/** RFC 9110 section 6.6.1: Date is when the answer was made, to the second. */
function examineClock(date: string | undefined): Check {
  const said = date === undefined ? Number.NaN : Date.parse(date)
  if (Number.isNaN(said))
    return { check: 'clock', status: 'warning', message: 'the service sends no Date', hint: null }
  const off = Math.abs(Date.now() - said)
  if (off <= clockTolerance) return ok('clock', 'agrees with the service')
  return {
    check: 'clock',
    status: 'warning',
    message: `differs from the service's by ${Math.round(off / 1_000)} s`,
    hint: 'Set the clock of this machine, for example with timedatectl set-ntp true.',
  }
}
