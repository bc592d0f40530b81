import { expect } from 'chai'
import { type Call, callNamed, calls, wordsFor } from '../slow/matrix/calls.ts'
import { faults } from '../slow/matrix/faults.ts'
import { expectedCodes, validFlags } from '../slow/matrix/flag-calls.ts'
import { type Form, inWords } from '../slow/matrix/forms.ts'
import { startGoodService } from '../slow/matrix/good-service.ts'
import { expectGoodManners, expectNothingLeft, filesOf } from '../slow/matrix/invariants.ts'
import { judge, limits, sentKey } from '../slow/matrix/judge.ts'
import { PreparedHome } from '../slow/matrix/prepared-home.ts'
import { patience, removeWorld, type World } from '../slow/matrix/world.ts'
import { type ServiceCall, serviceCalls } from '../support/command-lines.ts'
import { createJobPool } from '../support/job-pool.ts'
import { perSuite } from '../support/lifetime.ts'
import type { Run } from '../support/run-chatctl.ts'
import { type ScriptedServer, startScriptedServer } from '../support/scripted-server.ts'
import { takeCells } from '../support/take-sample.ts'
import { until } from '../support/until.ts'
import { leftOut, startWine, type Wine, windowsPath } from '../support/wine/wine.ts'

/** Every command with the executable for Windows, and the failures of a service that users meet most. */

type FaultName = keyof typeof faults

interface Cell {
  call: Call
  /** Undefined if the call contacts no service, or the service has no fault. */
  fault?: { service: ServiceCall; name: FaultName }
  form: Form
  /** The exit codes that the call may have without a fault. */
  codes: readonly number[]
  title: string
}

const faultNames: readonly FaultName[] = ['success', 401, 404, '429 forever', '502 with a web page']

const cells: readonly Cell[] = (['pipe', 'JSON'] as const).flatMap((form) => [
  ...serviceCalls.flatMap((service) =>
    faultNames.map((name) => ({
      call: callNamed(service.name),
      fault: { service, name },
      form,
      codes: [],
      title: `${service.name}: ${name}, ${inWords[form]}`,
    })),
  ),
  ...calls
    .filter(({ service }) => service === undefined)
    .map((call) => ({ call, form, codes: [call.fine[form]], title: `${call.name}: ${inWords[form]}` })),
  // Flags of all commands share their code.
  ...validFlags
    .filter(({ isShared }, index) => !isShared && (index % 2 === 0) === (form === 'pipe'))
    .map((call) => ({
      call,
      form,
      codes: expectedCodes(call, form),
      title: `${call.name}, ${inWords[form]}`,
    })),
])

describe(`the matrix of commands on Windows${leftOut}`, function () {
  this.timeout(1_200_000)
  const wine = startWine()
  const service = perSuite(startGoodService)
  const home = perSuite(() => PreparedHome.make(service.url))
  const outcomes = new Map<Cell, Promise<void>>()
  const { sample, words } = takeCells(cells, 10)

  before(() => {
    const inTurn = createJobPool(3)
    for (const cell of sample) {
      const outcome = inTurn(() => meet(cell, home, wine))
      // The test of the cell reports it.
      outcome.catch(() => {})
      outcomes.set(cell, outcome)
    }
  })

  describe(words, () => {
    for (const cell of sample) it(cell.title, () => outcomes.get(cell))
  })
})

async function meet({ call, fault, form, codes }: Cell, home: PreparedHome, wine: Wine): Promise<void> {
  const world = home.makeWorld()
  const server = fault && (await startScriptedServer(faults[fault.name].script(fault.service)))
  try {
    const before = new Set(filesOf(world))
    const flags = fault ? limits(String(fault.name)) : []
    const words = home.fill(wordsFor(call, form)).map((word) => word.replace(/^echo /, 'cmd /c echo '))
    const run = await runOnWindows(wine, world, [...words, ...flags], call, server)
    if (fault && server) {
      const judged = { call: fault.service, fault: faults[fault.name], faultName: String(fault.name), form }
      judge(judged, { ...run, requests: server.requests })
    } else expect(codes, run.stderr).to.include(run.exitCode)
    expectPathsOfWindows(run)
    expectHintsForWindows(run)
    const ran = { call, form, world, run: { ...run, hung: false, signal: null } }
    expectGoodManners(ran)
    await expectNothingLeft(ran, before)
  } finally {
    removeWorld(world)
    await server?.close()
  }
}

async function runOnWindows(
  wine: Wine,
  { home, here, env }: World,
  args: readonly string[],
  call: Call,
  server: ScriptedServer | undefined,
): Promise<Run> {
  const running = wine.startProgram({ home, env: {}, remove: () => {} }, args, {
    cwd: here,
    timeout: 2 * patience,
    env: {
      USERPROFILE: windowsPath(home),
      // The world has the directories of Linux.
      XDG_CONFIG_HOME: windowsPath(`${home}/.config`),
      XDG_DATA_HOME: windowsPath(`${home}/.local/share`),
      XDG_STATE_HOME: windowsPath(`${home}/.local/state`),
      EDITOR: 'cmd /c rem',
      TZ: env['TZ'],
      ...(server && { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: sentKey }),
    },
    hasConsole: call.until !== undefined,
  })
  running.stdin.end(call.stdin ?? '')
  if (call.until) {
    const isReady = () => call.until?.test(running.written().stdout) === true
    // Some flags let it fail.
    await Promise.race([until(isReady, patience), running.ended])
    running.interrupt()
  }
  return await running.ended
}

/** Paths have no slashes after a drive, and no file of Linux is named. */
function expectPathsOfWindows({ stdout, stderr }: Run): void {
  const said = stdout + stderr
  expect(said).not.to.match(/\b[A-Z]:(\\+[^\s"'\\/]+)+\//)
  expect(said).not.to.match(/(?<![\w:/])\/(home|root|tmp|usr)\//)
}

/** A command in a hint works in cmd.exe, which does not know single quotes, and needs no program of POSIX. */
function expectHintsForWindows({ stderr }: Run): void {
  const hints = stderr.match(/^Hint: .*|"hint":"(\\.|[^"])*"/gm) ?? []
  for (const hint of hints) expect(hint).not.to.match(/chatctl\b.* '|\b(kill|chmod|sudo|iconv|export)\b \S/)
}
