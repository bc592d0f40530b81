import { BaseCommand } from './base-command.ts'
import { localWork } from './documented-requests.ts'

/** A command that sends no request to the service. */
export abstract class LocalCommand extends BaseCommand {
  static override requests = localWork
}
