/** 32 hexadecimal digits that nobody else has; also where the page came without TLS. */
export function newId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
