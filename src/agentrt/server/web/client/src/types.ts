/** What REST says and takes, generated from the server's OpenAPI document. */

import type { Event } from "./events.js";
import type { components, operations } from "./schema.js";

type Schemas = components["schemas"];

export type Agent = Schemas["Agent"];
export type AnyLLM = Agent["llm"];
export type LLM = Schemas["LLM"];
export type ConfirmationPolicy = Schemas["SetConfirmationPolicy"]["policy"];
export type SavedSecret = Schemas["SecretsChanged"]["secrets"][string];
export type ConversationInfo = Schemas["ConversationInfo"];
export type ConversationCount = Schemas["ConversationCount"];
export type ConversationPage = Schemas["ConversationPage"];
export type Status = ConversationInfo["status"];
export type PendingAction = Schemas["PendingAction"];
export type ChangeConversation = Schemas["ChangeConversation"];
export type CreateConversation = Schemas["CreateConversation"];
export type EventPage = Omit<Schemas["EventPage"], "items"> & { items: Event[] };
export type EventCount = Schemas["EventCount"];
export type StateInfo = Schemas["StateInfo"];
export type FileEntry = Schemas["FileEntry"];
export type FileList = Schemas["FileList"];
export type FileChange = Schemas["FileChange"];
export type FileChanges = Schemas["FileChanges"];
export type FileDiff = Schemas["FileDiff"];
export type GitChange = Schemas["GitChange"];
export type GitChanges = Schemas["GitChanges"];
export type GitDiff = Schemas["GitDiff"];
export type Hit = Schemas["Hit"];
export type SearchResults = Schemas["SearchResults"];
export type ServerInfo = Schemas["ServerInfo"];
export type ServerList = Schemas["ServerList"];
export type ServerStatus = Schemas["ServerStatus"];
export type KnownModel = Schemas["KnownModel"];
export type SavedModel = Schemas["SavedModel"];
export type ModelList = Schemas["ModelList"];
export type Project = Schemas["Project"];
export type ProjectList = Schemas["ProjectList"];
export type LoginAddress = Schemas["LoginAddress"];
export type Answer = Schemas["Answer"];
export type Forked = Schemas["Forked"];
export type Ticket = Schemas["Ticket"];
export type ToolDefinition = Schemas["ToolDefinition"];
export type ConversationsQuery = NonNullable<operations["list_conversations"]["parameters"]["query"]>;
