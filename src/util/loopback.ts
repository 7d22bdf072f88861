/** Whether a host of a URL, or an IP address, is this machine's own. Here for every room that asks. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|127\.[\d.]+|\[?::1\]?)$/.test(host);
}
