import { existsSync } from 'node:fs'
import { configurationPath } from '../config/configuration-file.ts'
import { Failure } from '../failure.ts'
import type { Context } from './create-context.ts'
import { exitCodeOf } from './exit-codes.ts'
import { credentialInUse } from './sign-in/credential-in-use.ts'

export interface Check {
  check: string
  status: 'ok' | 'warning' | 'failed'
  message: string
  hint: string | null
}

/** A clock that is further off, in ms, makes tokens and waits go wrong. */
const clockTolerance = 60_000

/** Looks at one thing after the other, up to the first that the rest needs and that fails. */
export async function examine(context: Context): Promise<{ checks: Check[]; exitCode: number }> {
  const checks: Check[] = [ok('node', `Node.js ${process.versions.node}`)]
  for (const [check, look] of examinations) {
    try {
      checks.push(...(await look(context)))
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      checks.push({ check, status: 'failed', message: error.message, hint: error.hint ?? null })
      return { checks, exitCode: exitCodeOf(error.kind) }
    }
  }
  return { checks, exitCode: 0 }
}

/** By the check that an examination fails; the service's answer says two things. */
const examinations: [string, (context: Context) => Check[] | Promise<Check[]>][] = [
  ['configuration', (context) => [examineConfiguration(context)]],
  ['address', (context) => [examineAddress(context)]],
  ['credential', examineCredential],
  ['service', examineService],
]

function examineConfiguration({ configurationFailure }: Context): Check {
  if (configurationFailure) throw configurationFailure
  return ok('configuration', existsSync(configurationPath()) ? configurationPath() : 'none yet')
}

async function examineCredential(context: Context): Promise<Check[]> {
  const { credential } = await credentialInUse(context.target(), context.signedIn())
  return [ok('credential', credential)]
}

function examineAddress(context: Context): Check {
  const target = context.target()
  return ok('address', target.kind === 'local' ? 'the embedded service' : target.baseUrl)
}

async function examineService(context: Context): Promise<Check[]> {
  const client = await context.connect()
  const startedAt = performance.now()
  const { body, headers } = await client.users.profile()
  const elapsed = Math.round(performance.now() - startedAt)
  const who = body?.email ?? body?.id ?? 'somebody'
  return [ok('service', `answers in ${elapsed} ms as ${who}`), examineClock(headers['date'])]
}

/** RFC 9110 section 6.6.1: Date is when the answer was made, to the second. */
function examineClock(date: string | undefined): Check {
  const said = Date.parse(date ?? '')
  if (Number.isNaN(said)) {
    return { check: 'clock', status: 'warning', message: 'the service sends no Date', hint: null }
  }
  const off = Math.abs(Date.now() - said)
  if (off <= clockTolerance) return ok('clock', 'agrees with the service')
  return {
    check: 'clock',
    status: 'warning',
    message: `differs from the service's by ${Math.round(off / 1_000)} s`,
    hint: 'Set the clock of this machine, for example with timedatectl set-ntp true.',
  }
}

function ok(check: string, message: string): Check {
  return { check, status: 'ok', message, hint: null }
}
