/** Does to each client library what networks and brokers do, and prints what came of it. */
export function probe(server: { readonly port: number; alarm(isOn: boolean): Promise<void> }): Promise<void>
