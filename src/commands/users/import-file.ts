import { join, parse } from 'node:path'
import { throwWhatIsLeft } from '../../bulk/file-run.ts'
import { commandFor } from '../../cli/command-line.ts'
import type { Context } from '../../cli/context/context.ts'
import { showPlanned } from '../../cli/context/first-requests.ts'
import { Failure } from '../../contract/failure.ts'
import type { ImportOptions, ImportReport } from '../../users/import-users.ts'
import type { ValidRow } from '../../users/rows/check-input.ts'
import { countOf } from '../../view/format/quantities.ts'
import { closedView, importForecastView, importView } from '../../view/users.ts'
import { describeFailed, describeUnknown, type ResolvingCommand } from './describe-outcomes.ts'

type Optional = 'makePassword' | 'resolution' | 'place' | 'known' | 'allowDuplicates' | 'withoutIds'

/** The options of a command that imports a file of rows. */
export interface FileOptions extends Omit<ImportOptions, Optional>, Partial<Pick<ImportOptions, Optional>> {
  /** The command line that resolves a row whose outcome is unknown; undefined if nothing is created. */
  resolvingCommand?: ResolvingCommand
}

/**
 * Imports a file of rows, with prompts, progress, and warnings, and shows the results.
 * @param onReported called with the valid rows, before the result is shown
 * @throws Failure `incomplete` if rows failed or have an unknown outcome; the reason of an early end
 */
export async function importFile(
  context: Context,
  options: FileOptions,
  onReported?: (rows: readonly ValidRow[]) => void,
): Promise<void> {
  context.demandNamedService()
  context.approval.demand('users')
  const [{ importUsers }, { KnownUsers }] = await Promise.all([
    import('../../users/import-users.ts'),
    import('../../users/known-users.ts'),
  ])
  const { makePassword, resolution, place, results } = options
  const { known = new KnownUsers(context), allowDuplicates = false, withoutIds = false } = options
  const imported = await importUsers(context, {
    ...options,
    ...{ makePassword, resolution, place, known, allowDuplicates, withoutIds },
    results: results === undefined ? undefined : context.resolvePath(results),
  })
  if ('planned' in imported) {
    const { rows, done: already_done, reads, steps, requests } = imported.planned
    const { create: creates, update: updates, assign: assignments } = steps
    const counts = { rows, already_done, reads, creates, updates, assignments, requests }
    return showPlanned(context, importForecastView, counts, imported.first)
  }
  onReported?.(imported.valid)
  await showImported(context, imported, options)
}

/** @throws Failure, or what ended the run */
async function showImported(context: Context, report: ImportReport, options: FileOptions): Promise<void> {
  const { output } = context
  const { counts, rows, remaining, requests, alreadyDone, unknownRows: list } = report
  const { created, updated, failed, unknown } = counts
  if (failed > 0) await output.warn(describeFailed(report.failed, failed))
  if (unknown > 0) await output.warn(describeUnknown(report.unknown, unknown, options.resolvingCommand, list))
  const files = {
    results: report.resultsFailure ? undefined : options.results,
    failed_rows: report.failedRows,
    unknown_rows: list,
  }
  await output.show(importView, {
    ...{ rows, created, updated, already_done: alreadyDone, failed, unknown },
    ...{ skipped: counts.skipped - remaining, remaining, requests },
    ...Object.fromEntries(Object.entries(files).filter(([, path]) => path !== undefined)),
  })
  const words = [
    ...(requests + remaining + failed + unknown === 0 ? ['Nothing was left to send.'] : []),
    // What earlier runs have done comes from the ledger.
    ...(alreadyDone > 0
      ? [
          `${countOf(alreadyDone, 'row')} ${alreadyDone === 1 ? 'was' : 'were'} done by earlier runs. chatctl did not check that the users still exist.`,
        ]
      : []),
  ]
  if (words.length > 0) output.notice(words.join(' '))
  throwWhatIsLeft(context, report, options, (path) => {
    // The service refused these rows, or they are invalid, so the same command would fail again.
    const which = counts.failed + report.invalid === 1 ? 'the row' : 'these rows'
    return `Fix ${which}, and run: ${correctedCommand(context, options, path)}`
  })
}

function correctedCommand(
  context: Context,
  { kind, makePassword, restart, allowDuplicates }: FileOptions,
  path: string,
): string {
  if (kind !== 'users') return commandFor(context, 'users', 'permissions', 'assign', '--file', path)
  const { dir, name } = parse(path)
  const passwords = makePassword
    ? ['--generate-passwords', '--results', join(dir, `${name}.passwords.csv`)]
    : []
  const again = restart || allowDuplicates ? ['--allow-duplicates'] : []
  return commandFor(context, 'users', 'import', path, ...again, ...passwords)
}

/** Closes the unfinished imports of a file, and shows how far they were. @throws Failure `refused` if there is none */
export async function closeImport(
  context: Context,
  { file, kind }: { file: string; kind: 'users' | 'assignments' },
): Promise<void> {
  context.demandNamedService()
  const { closeImports } = await import('../../users/unfinished-imports.ts')
  const closed = await closeImports(context, { file, kind })
  if (closed.length === 0) {
    throw new Failure('refused', `No unfinished import of ${file} to ${context.service}`, {
      hint: 'To list unfinished imports, run: chatctl doctor',
    })
  }
  await context.output.show(
    closedView,
    closed.map(({ file, service, rows, sent, unknown }) => ({ file, service, rows, sent, unknown })),
  )
  context.output.notice(
    'Closed. chatctl remembers which rows it has sent. To resume, import the same file again.',
  )
}
