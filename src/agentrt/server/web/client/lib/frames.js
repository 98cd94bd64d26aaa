/** What goes over the socket: each message is a JSON array of frames. */
/** Why a server closes a socket, beyond what every server says. */
export const CLOSED = {
    notAuthenticated: 4001,
    notAllowed: 4003,
    missing: 4004,
    noProgress: 4008,
    garbage: 4009,
    cursorExpired: 4010,
};
