import type { Context } from '../../cli/context/context.ts'
import { Failure } from '../../contract/failure.ts'
import type { Directories } from '../../system/files/directories.ts'
import type { UnfinishedImport } from '../../users/journal/unfinished-imports.ts'
import { closedView } from '../../view/users.ts'

/** Address of the service, as journals name it. */
export function journalServiceOf(context: Context): string {
  return context.contextOwner().baseUrl ?? `local ${context.directories.data}`
}

/** Which imports are closed: all of one file to one service. */
export interface ClosedImports {
  file: string
  kind: UnfinishedImport['kind']
  service: string
}

/**
 * Closes the unfinished imports of a file, and shows how far they were.
 *
 * @param closeImports of the bulk layer, which the command has loaded
 * @throws Failure `refused` if there is none
 */
export async function closeImport(
  context: Context,
  closeImports: (directories: Directories, which: ClosedImports) => Promise<UnfinishedImport[]>,
  { file, kind }: Pick<ClosedImports, 'file' | 'kind'>,
): Promise<void> {
  context.demandNamedService()
  const service = journalServiceOf(context)
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
