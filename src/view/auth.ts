import { valueAt } from '../contract/notation/tree.ts'
import { listView, pairsView, plain, type Span, type View } from './format/view.ts'

/** The credential in use, and its user. */
const credentialColumns = plain(
  'kind storage expires_at:time scope verified:boolean user.id user.email user.name',
)

export const authStatusView: View = {
  layout: 'pairs',
  omitsEmpty: true,
  columns: [...plain('profile profile_from base_url service credential reason'), ...credentialColumns],
}

export const loginView: View = {
  layout: 'pairs',
  omitsEmpty: true,
  columns: [...plain('profile', 'base_url'), ...credentialColumns],
}

/** Tokens after a renewal. */
export const refreshView = pairsView('profile base_url expires_at:time scope', { omitsEmpty: true })

export const signInsView = listView(`
  profile origin kind storage expires_at:time default:boolean directories:strings:hidden
`)

export const logoutView = listView('profile origin signed_out:boolean revoked:boolean', {
  isForTerminal: true,
  text: (rows) => (rows as readonly SignedOut[]).filter((row) => row.signed_out).map(describeSignOut),
})

export const renamedProfileView = pairsView('profile former_name', {
  isForTerminal: true,
  text: (body) => `Profile ${valueAt(body, 'former_name')} is now ${valueAt(body, 'profile')}.`,
})

export const removedProfileView = pairsView('profile default:boolean directories:strings sign_outs:objects', {
  isForTerminal: true,
  text: (body) => [
    ...(valueAt(body, 'sign_outs') as readonly SignedOut[]).map(describeSignOut),
    ...(valueAt(body, 'directories') as readonly string[]).map((directory) => ({
      text: `The directory ${directory} has no profile now.\n`,
    })),
    { text: `Removed the profile ${valueAt(body, 'profile')}.\n` },
  ],
})

/** What became of one profile at one address. */
export interface SignedOut {
  profile: string
  origin: string
  /** Whether a credential was stored. */
  signed_out: boolean
  /** Whether the server has ended the token. */
  revoked: boolean
  /** Removed from the profile. Its credential was not stored. */
  credential_command?: string
}

function describeSignOut({ profile, origin, revoked, credential_command: command }: SignedOut): Span {
  if (command !== undefined) {
    return { text: `Signed out of ${profile} (${origin}). The profile no longer runs: ${command}\n` }
  }
  const after = revoked
    ? 'The token is revoked.'
    : 'The credential is deleted on this machine. On the service, it may stay valid until it expires or is revoked.'
  return { text: `Signed out of ${profile} (${origin}). ${after}\n` }
}

/** A credential for another program. No other view shows a credential. */
export const tokenView = pairsView('token kind expires_at:time', {
  text: (body) => String(valueAt(body, 'token')),
})
