import type { LLM } from "@agentrt/client";
import { ModelForm } from "../settings/model";
import { Reset, type SectionProps, useChanging } from "./settings";

/** The model of new conversations. */
export function Model({ known, refresh }: SectionProps) {
  const saving = useChanging(refresh);
  return (
    <ModelForm
      needs="change_server_agent"
      saving={saving}
      llm={known.agent?.llm ?? ({ type: "LLM", model: "" } as LLM)}
      known={undefined}
      about="New conversations begin with this model."
      apply={(llm) => void saving.change({ llm }, "Model changed")}
      more={<Reset fields={["llm"]} known={known} saving={saving} />}
    />
  );
}
