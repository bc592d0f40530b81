import {
  type CredentialOwner,
  type CredentialStore,
  withCredentialLock,
} from '../../auth/credentials/credential-store.ts'
import { isOfWholeKeychain } from '../../auth/credentials/keychain-failure.ts'
import { commandLine } from '../../cli/command-line.ts'
import type { Context } from '../../cli/context/context.ts'
import { type CredentialPlace, isSamePlace, ownerOf } from '../../cli/credential/credential-stores.ts'
import { changeConfiguration } from '../../config/configuration-file.ts'
import { formerNameOf, withoutFormerName, withRenamedProfile } from '../../config/profile-changes.ts'
import { Failure } from '../../contract/failure.ts'

/** What `renameProfile` does, in this order. Each step can be repeated after an interruption. */
export interface Renaming {
  from: string
  to: string
  /** Where the profile has credentials, or may have some. */
  places: readonly CredentialPlace[]
  /** The command line that repeats it. */
  command: string
  /** Whether the configuration already has the new name, because an earlier run was interrupted. */
  isResumed: boolean
}

/** @throws Failure `usage` for a profile that cannot have this name */
export function planRename({ configuration, stores }: Context, from: string, to: string): Renaming {
  const command = renameCommand(from, to)
  if (formerNameOf(configuration, to) === from) {
    const places = stores.placesOf(to).map((place) => ({ ...place, profile: from }))
    return { from, to, places, command, isResumed: true }
  }
  withRenamedProfile(configuration, from, to)
  const former = formerNameOf(configuration, from)
  if (former !== undefined) {
    throw new Failure('usage', `Profile "${former}" is not completely renamed to "${from}" yet`, {
      hint: `Complete that first with: ${renameCommand(former, from)}`,
    })
  }
  return { from, to, places: stores.placesOf(from), command, isResumed: false }
}

/**
 * Renames a profile with everything that belongs to it. The configuration has the former name until all is done,
 * so that an interrupted rename can be completed.
 *
 * @param reassignRecords gives the records of this machine to the new name
 * @throws Failure; the profile then has the name that the configuration says
 */
export async function renameProfile<T>(
  context: Context,
  renaming: Renaming,
  reassignRecords: () => Promise<T>,
): Promise<T & { credentials: number }> {
  const credentials = await renameWithCredentials(context, renaming)
  const records = await reassignRecords()
  await changeConfiguration(context.directories, (now) => withoutFormerName(now, renaming.to))
  return { credentials, ...records }
}

/**
 * Renames the profile in the configuration. Credentials are copied first and deleted last, so that the name in
 * the configuration always has them.
 *
 * @returns the number of credentials
 */
async function renameWithCredentials(context: Context, renaming: Renaming): Promise<number> {
  const { directories, stores, signal } = context
  const { from, to, places, isResumed } = renaming
  const recorded = stores.formerPlaces(isResumed ? to : from, undefined)
  const moves = places.flatMap((place): Move[] => {
    // The configuration has the command of such a place.
    if (place.storage === 'command') return []
    const isRecorded = recorded.some((one) => isSamePlace(one, place))
    const owners = { old: ownerOf(from, place.baseUrl), new: ownerOf(to, place.baseUrl) }
    return [{ ...owners, store: stores.of(place.storage), isRecorded }]
  })
  // A renewal in another process would make the copy useless.
  return underLocks(context, moves, async () => {
    const copied: Move[] = []
    if (!isResumed) {
      try {
        for (const move of moves) if (await copyCredential(move, signal)) copied.push(move)
        await changeConfiguration(directories, (now) => withRenamedProfile(now, from, to))
      } catch (error) {
        for (const { store, new: owner } of copied) await store.delete(owner).catch(() => {})
        throw error
      }
    }
    for (const { store, old, isRecorded } of isResumed ? moves : copied) {
      await store.delete(old).catch(unlessNeeded(isRecorded))
    }
    return copied.length
  })
}

/** The command line that renames a profile, or completes that. */
export function renameCommand(from: string, to: string): string {
  return commandLine('auth', 'rename', from, to)
}

interface Move {
  old: CredentialOwner
  new: CredentialOwner
  store: CredentialStore
  /** Whether a sign-in has stored a credential there. */
  isRecorded: boolean
}

/** @returns whether there is one */
async function copyCredential(
  { store, old, new: owner, isRecorded }: Move,
  signal: AbortSignal,
): Promise<boolean> {
  const stored = await store.read(old, signal).catch(unlessNeeded(isRecorded))
  if (stored) await store.write(owner, stored, signal)
  return stored !== undefined
}

/** Without a keychain, a profile that was never signed in can still be renamed. */
function unlessNeeded(isRecorded: boolean) {
  return (error: unknown): undefined => {
    if (isRecorded || !(error instanceof Failure) || !isOfWholeKeychain(error)) throw error
  }
}

function underLocks<T>(
  { directories, signal }: Context,
  moves: readonly Move[],
  work: () => Promise<T>,
): Promise<T> {
  const owners = new Map(moves.map(({ old }) => [old.origin, old]))
  return [...owners.values()].reduce(
    (inner, owner) => () => withCredentialLock(directories, owner, signal, inner),
    work,
  )()
}
