/** Replies to each message from the parent process with the CPU time so far, in ms. Ends with the parent. */
export function tellCpu(): void {
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    process.send?.({ cpu: (user + system) / 1000 })
  })
  process.once('disconnect', () => process.exit(0))
}
