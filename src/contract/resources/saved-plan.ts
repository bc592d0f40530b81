/** The service of a plan or of a state file, for a person. */
export function nameOfService(service: string): string {
  return service === 'local' ? 'the embedded service' : service
}
