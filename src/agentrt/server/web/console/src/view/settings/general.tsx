import { tagsOf } from "../../model/configuration";
import { rest } from "../../state/session";
import * as list from "../../state/list";
import { Field, Form, useDraft, useSaving } from "./parts";
import type { SectionProps } from "./settings";

/** The title and the tags. */
export function General(props: SectionProps) {
  const { conversation, configured } = props;
  const saving = useSaving(props);
  const info = conversation.info.value;
  const given = configured.found?.title ?? "";
  const written = Object.entries(info?.tags ?? {})
    .map(([name, value]) => `${name}=${value}`)
    .join(", ");
  const [title, setTitle] = useDraft(given);
  const [tags, setTags] = useDraft(written);
  const read = tagsOf(tags);
  const changed = { ...(title.trim() !== given ? { title: title.trim() } : {}), ...(tags !== written && read ? { tags: read } : {}) };
  const save = async (): Promise<void> => {
    await saving.save(() => rest.change(conversation.id, changed));
    void list.refresh();
  };
  const name = async (): Promise<void> => {
    await saving.control([{ type: "generate_title" }], "Title generated");
    void list.refresh();
  };
  return (
    <Form
      needs="change_conversation"
      saving={saving}
      action="Save"
      ready={Object.keys(changed).length > 0 && read !== null}
      onSubmit={() => void save()}
      more={
        <button type="button" class="button" disabled={saving.busy} onClick={() => void name()}>
          Generate title
        </button>
      }
    >
      <Field label="Title">
        <input type="text" value={title} placeholder={info?.title ?? ""} maxLength={1000} onInput={(event) => setTitle(event.currentTarget.value)} />
      </Field>
      <Field label="Tags" hint="for example team=core, ticket=12; keys use lowercase letters and digits">
        <input type="text" value={tags} spellcheck={false} aria-invalid={read === null} onInput={(event) => setTags(event.currentTarget.value)} />
      </Field>
      {read === null ? <p class="tone-danger">Write each tag as key=value, for example team=core</p> : null}
    </Form>
  );
}
