import { join, parse } from 'node:path'
import type { FileReport } from '../../bulk/send/bulk-run.ts'
import { commandFor } from '../../cli/command-line.ts'
import type { Context } from '../../cli/context/context.ts'
import { showPlanned } from '../../cli/context/first-requests.ts'
import { Failure } from '../../contract/failure.ts'
import type { KnownRow } from '../../users/adopt-rows.ts'
import type { ImportEvent, ImportOptions } from '../../users/import-run.ts'
import type { Report } from '../../users/results/report-rows.ts'
import { countOf, groupDigits } from '../../view/format/quantities.ts'
import { closedView, importForecastView, importView, summarizeForecast } from '../../view/users.ts'
import {
  BulkDisplay,
  confirmForecast,
  serviceOf,
  surroundingsOfFile,
  throwWhatIsLeft,
} from './bulk-display.ts'
import { describeFailed, describeUnknown, type ResolvingCommand } from './describe-outcomes.ts'

/** Grace period in ms, to wait for pending requests and to write the results. */
const grace = 60_000

type Optional = 'makePassword' | 'resolution' | 'place' | 'createdUsers'

/** The options of a command that imports a file of rows. */
export interface FileOptions
  extends Omit<ImportOptions, Optional | 'isDryRun' | 'maxWait'>,
    Partial<Pick<ImportOptions, Optional>> {
  /** Whether to skip the confirmation prompt. */
  yes: boolean
  /** The command line that resolves a row whose outcome is unknown; undefined if nothing is created. */
  resolvingCommand?: ResolvingCommand
}

/**
 * Imports a file of rows, with prompts, progress, and warnings, and shows the results.
 *
 * @param onKnown called with the rows for which something was sent, before the result is shown
 * @throws Failure `incomplete` if rows failed or have an unknown outcome; the reason of an early end
 */
export async function importFile(
  context: Context,
  options: FileOptions,
  onKnown?: (rows: Iterable<KnownRow>) => void,
): Promise<void> {
  context.demandNamedService()
  context.approval.demand('users')
  const { host, resolvePath } = context
  host.allowGrace(grace)
  const { importRows } = await import('../../users/import-rows.ts')
  const { makePassword, resolution, place, createdUsers, results } = options
  const events = importRows(
    {
      ...options,
      ...{ makePassword, resolution, place, createdUsers },
      results: results === undefined ? undefined : resolvePath(results),
      isDryRun: context.dryRun,
      maxWait: context.options.max_wait.value,
    },
    surroundingsOfFile(context),
  )
  const shown = new ShownImport(context, options)
  try {
    for await (const event of events) {
      if (event.type === 'known') onKnown?.(event.rows)
      else await shown.take(event)
    }
  } finally {
    shown.endProgress()
  }
  const { imported } = shown
  if (!imported) return
  await showImported(context, imported, options)
}

/** The prompts and the progress of an import. */
class ShownImport {
  /** The result, after the last event. */
  imported: (Report & FileReport) | undefined
  readonly #context: Context
  readonly #options: FileOptions
  readonly #display: BulkDisplay

  constructor(context: Context, options: FileOptions) {
    this.#context = context
    this.#display = new BulkDisplay(context, 'row')
    this.#options = options
  }

  async take(event: Exclude<ImportEvent, { type: 'known' }>): Promise<void> {
    const { output } = this.#context
    switch (event.type) {
      case 'warning':
        return output.warn(event.text)
      case 'no_password':
        return output.warn(
          `${countOf(event.users, 'new user')} without a password. If the service requires one, use --generate-passwords --results FILE`,
        )
      case 'created_before':
        return output.warn(
          `${event.users === 1 ? '1 email in the file belongs to a user that was' : `${groupDigits(event.users)} emails in the file belong to users that were`} created from this machine before. Such rows create no user, and their names and metadata are not sent. To create the users again, use --allow-duplicates`,
        )
      case 'planned':
        return this.#showPlanned(event)
      case 'forecast':
        return confirmForecast(this.#context, event.forecast, {
          ...this.#options,
          noun: 'import',
          outline: summarizeForecast(event.forecast),
        })
      case 'end':
        this.imported = event.imported
        return
      default:
        this.#display.take(event)
    }
  }

  endProgress(): void {
    this.#display.end()
  }

  #showPlanned({ planned, first }: ImportEvent & { type: 'planned' }): Promise<void> {
    const { rows, done: already_done, steps, requests } = planned
    const { create: creates, update: updates, assign: assignments } = steps
    const counts = { rows, already_done, creates, updates, assignments, requests }
    return showPlanned(this.#context, importForecastView, counts, first)
  }
}

/** @throws Failure, or what ended the run */
async function showImported(
  context: Context,
  imported: Report & FileReport,
  options: FileOptions,
): Promise<void> {
  const { output } = context
  const { counts, rows, remaining, requests, alreadyDone } = imported
  const { created, updated, failed, unknown } = counts
  const list = imported.unknownRows
  if (failed > 0) await output.warn(describeFailed(imported.failed, failed))
  if (unknown > 0)
    await output.warn(describeUnknown(imported.unknown, unknown, options.resolvingCommand, list))
  const files = {
    results: imported.resultsFailure ? undefined : options.results,
    failed_rows: imported.failedRows,
    unknown_rows: list,
  }
  await output.show(importView, {
    ...{ rows, created, updated, already_done: alreadyDone, failed, unknown },
    ...{ skipped: counts.skipped - remaining, remaining, requests },
    ...Object.fromEntries(Object.entries(files).filter(([, path]) => path !== undefined)),
  })
  const words = [
    ...(requests + remaining + failed + unknown === 0 ? ['Nothing was left to send.'] : []),
    // The results of earlier runs come from the journal.
    ...(alreadyDone > 0
      ? [
          `${countOf(alreadyDone, 'row')} ${alreadyDone === 1 ? 'was' : 'were'} done by earlier runs. chatctl did not check that the users still exist.`,
        ]
      : []),
  ]
  if (words.length > 0) output.notice(words.join(' '))
  throwWhatIsLeft(context, imported, options, (path) => {
    // The service refused these rows, or they are invalid, so the same command would fail again.
    const which = counts.failed + imported.invalid === 1 ? 'the row' : 'these rows'
    return `Fix ${which}, and run: ${correctedCommand(context, options, path)}`
  })
}

function correctedCommand(context: Context, { kind, makePassword }: FileOptions, path: string): string {
  if (kind !== 'users') return commandFor(context, 'users', 'permissions', 'assign', '--file', path)
  const { dir, name } = parse(path)
  const passwords = makePassword
    ? ['--generate-passwords', '--results', join(dir, `${name}.passwords.csv`)]
    : []
  return commandFor(context, 'users', 'import', path, ...passwords)
}

/**
 * Closes the unfinished imports of a file, and shows how far they were.
 *
 * @throws Failure `refused` if there is none
 */
export async function closeImport(
  context: Context,
  { file, kind }: { file: string; kind: 'users' | 'assignments' },
): Promise<void> {
  context.demandNamedService()
  const service = serviceOf(context)
  const { closeImports } = await import('../../bulk/journal/open-journal.ts')
  const closed = await closeImports(context.directories, {
    file: file === '-' ? file : context.resolvePath(file),
    kind,
    service,
  })
  if (closed.length === 0) {
    throw new Failure('refused', `No unfinished import of ${file} to ${service}`, {
      hint: 'To list unfinished imports, run: chatctl doctor',
    })
  }
  await context.output.show(
    closedView,
    closed.map(({ file, rows, tried: sent, unknown }) => ({ file, service, rows, sent, unknown })),
  )
  context.output.notice(
    'Closed. chatctl remembers which rows it has sent. To resume, import the same file again.',
  )
}
