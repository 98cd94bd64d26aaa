/** The events of a conversation, as the server sends them; fields with their default value are left out. */
export {};
