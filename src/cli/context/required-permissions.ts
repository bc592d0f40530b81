import type { EndpointName } from '../../contract/endpoints.ts'

export async function permissionsFor(calls: readonly EndpointName[]): Promise<string[]> {
  const { requiredPermissions } = await import('../../service/domain/access/permissions.ts')
  return [...new Set(calls.map((name) => requiredPermissions[name]))]
}
