import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { type SaveWorkflowBody, type Workflow, workflowsRead, workflowsSave } from '../../api/generated';
import { buildWorkflowQuery } from '../../api/queries';
import { type Versioned, readWithEtag } from '../../api/versioned';
import { useVersionedSave } from '../../ui/conflict';
import { showToast } from '../../ui/toast';

export type Step = Workflow['steps'][number];
export type Content = Required<SaveWorkflowBody>;

export interface Editing {
  content: Content;
  /** Initial content of the editor. It does not follow the typed text, so that the cursor does not jump. */
  scriptAtFirst: string;
  /** Increases each time the editor is reset. */
  turn: number;
  isChanged: boolean;
  /** Whether another user has saved a newer revision than the edited one. */
  isBehind: boolean;
  edit: (part: Partial<Content>) => void;
  discard: () => void;
  save: () => Promise<void>;
  conflict: ReactNode;
}

/** The unsaved next revision. Saves by other users do not change it. */
export function useWorkflowEditing(workflow: Versioned<Workflow>): Editing {
  const { id } = workflow;
  const client = useQueryClient();
  const [base, setBase] = useState(() => removeFrameUrls(workflow));
  const [content, setContent] = useState(() => pickContent(base));
  const [{ scriptAtFirst, turn }, setEditor] = useState({ scriptAtFirst: base.script, turn: 0 });
  const beginEditing = (from: Versioned<Workflow>) => {
    setBase(from);
    setContent(pickContent(from));
    setEditor({ scriptAtFirst: from.script, turn: turn + 1 });
  };
  const written = useRef(content);
  useEffect(() => {
    written.current = content;
  });
  const isChanged = !isSameJson(content, pickContent(base));
  const isNewer = workflow.etag !== base.etag && workflow.revision >= base.revision;
  const hasOtherContent = isNewer && !isSameJson(pickContent(removeFrameUrls(workflow)), pickContent(base));
  // If the user has changed nothing, the editor shows the newest revision. A new name of the workflow does not reset
  // the editor.
  if (isNewer && !hasOtherContent) setBase(removeFrameUrls(workflow));
  else if (isNewer && !isChanged) beginEditing(removeFrameUrls(workflow));

  /** Continues from the saved revision. Edits that were made during the save remain as unsaved changes to it. */
  const continueFromSaved = (sent: Content, saved: Versioned<Workflow>) => {
    const { current: now } = written;
    const stored = pickContent(saved);
    const next: Content = {
      script: now.script === sent.script ? stored.script : now.script,
      steps: isSameJson(now.steps, sent.steps) ? stored.steps : now.steps,
      variables: isSameJson(now.variables, sent.variables) ? stored.variables : now.variables,
    };
    setBase(saved);
    setContent(next);
    if (next.script !== now.script) setEditor({ scriptAtFirst: next.script, turn: turn + 1 });
  };

  const path = { id };
  const { save, conflict } = useVersionedSave<Workflow, SaveWorkflowBody & Pick<Partial<Workflow>, 'name'>>({
    read: async () => removeFrameUrls(await readWithEtag((options) => workflowsRead({ ...options, path }))),
    write: async (body, ifMatch) => {
      const headers = { 'If-Match': ifMatch };
      return removeFrameUrls(await readWithEtag((options) => workflowsSave({ ...options, path, body, headers })));
    },
    labels: { script: 'Script', steps: 'Steps', variables: 'Variables', name: 'Name' },
  });
  return {
    content,
    scriptAtFirst,
    turn,
    isChanged,
    isBehind: hasOtherContent && isChanged,
    edit: (part) => setContent((before) => ({ ...before, ...part })),
    discard: () => beginEditing(removeFrameUrls(workflow)),
    save: async () => {
      const { current, isMine } = await save(content, base);
      if (isMine) continueFromSaved(content, current);
      else beginEditing(current);
      await client.invalidateQueries({ queryKey: buildWorkflowQuery(id).queryKey });
      void client.invalidateQueries({ queryKey: ['workflows'] });
      showToast(isMine ? `Saved as revision ${current.revision}.` : 'Your change was not saved.');
    },
    conflict,
  };
}

function pickContent({ script, steps, variables }: Workflow): Content {
  return { script, steps, variables };
}

/** Returns the workflow with its steps as stored, without the presigned URLs of their video frames. */
function removeFrameUrls<W extends Workflow>(workflow: W): W {
  return { ...workflow, steps: workflow.steps.map(({ frameUrl: _lent, ...step }) => step) };
}

function isSameJson(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
