import type { ApiKey } from '../../credentials/stored-credential.ts'
import type { Context } from '../create-context.ts'
import { finishLogin, type Login } from './finish-login.ts'
import type { LoginPlan } from './plan-login.ts'
import { readApiKey } from './read-api-key.ts'

/** Reads an API key, sees whether the service takes it, and keeps it. */
export async function signInWithKey(context: Context, plan: LoginPlan, verify: boolean): Promise<Login> {
  const credential: ApiKey = { version: 1, kind: 'api_key', key: await readApiKey(context) }
  return finishLogin(context, plan, credential, verify)
}
