import type { Advice } from '../advice.ts'
import { Failure } from '../failure.ts'

/** The service of a plan or of a state file, for a person. */
export function nameOfService(service: string): string {
  return service === 'local' ? 'the embedded service' : service
}

/** The failure for a plan that was made for another service. */
export function planOfOtherService(name: string, service: string, current: string, advice: Advice): Failure {
  const words = `The plan ${name} is for ${nameOfService(service)}, not for ${nameOfService(current)}`
  return new Failure('conflict', words, { advice: [advice] })
}

/** The failure for a plan that was made by another version of chatctl. */
export function planOfOtherVersion(name: string, tool: unknown, current: string, advice: Advice): Failure {
  const words = `The plan ${name} was made by chatctl ${tool}, but this is chatctl ${current}`
  return new Failure('conflict', words, { advice: [advice] })
}

/** The failure for a plan that is not as chatctl wrote it. */
export function changedPlan(name: string, advice: Advice): Failure {
  const words = `${name} was changed or truncated: the checksum does not match its content`
  return new Failure('refused', words, { advice: [advice] })
}

/** The failure for a plan that would overwrite another file. */
export function planWouldOverwrite(path: string): Failure {
  return new Failure('refused', `${path} exists and is not a plan, so it is not overwritten`, {
    advice: [{ code: 'other_plan_file' }],
  })
}
