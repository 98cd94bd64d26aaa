/** What REST says and takes, generated from the server's OpenAPI document. */
export {};
