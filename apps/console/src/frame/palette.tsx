import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useId, useState } from 'react';
import { readFirstItems } from '../api/read-all-items';
import {
  type Agent,
  agentsList,
  agentsRead,
  type IdentityUser,
  type Job,
  jobsList,
  jobsRead,
  type Workflow,
  workflowsList,
  workflowsRead,
} from '../api/generated';
import { useCurrentUser } from '../api/session';
import { shortenId } from '../parts/names';
import { formatRunTitle } from '../parts/run/run-title';
import { Dialog } from '../ui/dialog';
import { inputClass } from '../ui/form';
import { listPlacesOf } from './places';

/** Maximum number of hits of each kind. */
const most = 6;

interface Hit {
  key: string;
  kind: string;
  name: string;
  path: string;
  search?: { q: string };
}

const partOfId = /^[0-9a-f-]{6,36}$/i;
const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

interface PaletteProps {
  /** Text that was typed while the palette was being loaded. */
  earlyText: string;
  close: () => void;
}

/** Opens a page, an agent or a workflow by its name, or a run by its id or subject. */
export function Palette({ earlyText, close }: PaletteProps) {
  return (
    <Dialog open onOpenChange={close} title="Go to">
      <PaletteSearch earlyText={earlyText} leave={close} />
    </Dialog>
  );
}

function PaletteSearch({ earlyText, leave }: { earlyText: string; leave: () => void }) {
  const [text, setText] = useState(earlyText);
  const [at, setAt] = useState(0);
  const id = useId();
  const navigate = useNavigate();
  const hits = useSearchHits(text.trim());
  const picked = Math.min(at, hits.length - 1);
  const goToHit = (hit: Hit | undefined) => {
    if (!hit) return;
    leave();
    void navigate({ to: hit.path, search: hit.search ?? {} });
  };
  return (
    <div>
      <input
        role="combobox"
        aria-label="Page, agent, workflow or run"
        aria-expanded
        aria-controls={`${id}-hits`}
        aria-activedescendant={hits[picked] && `${id}-${picked}`}
        autoFocus
        value={text}
        placeholder="Name, or ID of a run"
        className={inputClass}
        onChange={({ target }) => {
          setText(target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (event.key === 'ArrowDown') setAt(Math.min(picked + 1, hits.length - 1));
          else if (event.key === 'ArrowUp') setAt(Math.max(picked - 1, 0));
          else if (event.key === 'Enter') goToHit(hits[picked]);
          else return;
          event.preventDefault();
        }}
      />
      <ul role="listbox" id={`${id}-hits`} aria-label="Results" className="mt-2 max-h-72 overflow-y-auto">
        {hits.map((hit, index) => (
          <li
            key={hit.key}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === picked}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => goToHit(hit)}
            className="flex cursor-pointer items-baseline justify-between gap-3 rounded px-2.5 py-1.5 hover:bg-sunken aria-selected:bg-picked"
          >
            <bdi className="truncate">{hit.name}</bdi>
            <span className="shrink-0 text-xs text-dim">{hit.kind}</span>
          </li>
        ))}
      </ul>
      {hits.length === 0 && <p className="px-2.5 py-3 text-dim">No results. Try another name, or the ID of a run.</p>}
    </div>
  );
}

function useSearchHits(text: string): Hit[] {
  const { user } = useCurrentUser();
  const { data: found = [] } = useQuery({
    queryKey: ['palette', text],
    enabled: text.length > 1,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) =>
      uuid.test(text) ? findResourcesById(text) : findResourcesByName(text, user, signal),
  });
  const pages = listPlacesOf(user)
    .filter(({ name }) => name.toLowerCase().includes(text.toLowerCase()))
    .map(({ name, to }): Hit => ({ key: to, kind: 'page', name, path: to }));
  return [...pages, ...(text.length > 1 ? found : [])];
}

/** Finds the run, agent or workflow with this id: reads all three and ignores those that do not exist. */
async function findResourcesById(id: string): Promise<Hit[]> {
  const returnNull = () => null;
  const [job, agent, workflow] = await Promise.all([
    jobsRead({ path: { id } }).catch(returnNull),
    agentsRead({ path: { id } }).catch(returnNull),
    workflowsRead({ path: { id } }).catch(returnNull),
  ]);
  return [job && toRunHit(job), agent && toAgentHit(agent), workflow && toWorkflowHit(workflow)].filter(
    (hit) => hit !== null,
  );
}

/** Finds the resources of the kinds that the user may see. */
async function findResourcesByName(q: string, { permissions }: IdentityUser, signal: AbortSignal): Promise<Hit[]> {
  const none = { items: [], isMore: false };
  const [agents, workflows, runs] = await Promise.all([
    permissions.includes('agents.read')
      ? readFirstItems(most, async (page) => {
          const { agents: items, nextCursor } = await agentsList({ query: { ...page, q }, signal });
          return { items, nextCursor };
        })
      : none,
    permissions.includes('workflows.read')
      ? readFirstItems(most, async (page) => {
          const { workflows: items, nextCursor } = await workflowsList({ query: { ...page, q }, signal });
          return { items, nextCursor };
        })
      : none,
    // Lists show the end of a run's id. A text with a digit is most likely the subject of a run.
    permissions.includes('runs.read') && (partOfId.test(q) || /\d/.test(q)) ? searchRuns(q, signal) : [],
  ]);
  return [...agents.items.map(toAgentHit), ...workflows.items.map(toWorkflowHit), ...runs];
}

/**
 * Searches only the newest runs, in at most 10 requests. The last hit in the palette opens the page of runs, which
 * searches all runs.
 */
async function searchRuns(q: string, signal: AbortSignal): Promise<Hit[]> {
  const readRunsPage = async (page: { limit: number; cursor?: string }) => {
    const { jobs: items, nextCursor } = await jobsList({ query: { ...page, q }, signal });
    return { items, nextCursor };
  };
  const { items, isMore } = await readFirstItems(most, readRunsPage, { pages: 10 });
  const further: Hit[] = isMore
    ? [{ key: 'further', kind: 'runs', name: `All runs with “${q}”`, path: '/runs', search: { q } }]
    : [];
  return [...items.map(toRunHit), ...further];
}

function toRunHit(run: Job): Hit {
  const kind = `run ${shortenId(run.id)}, ${run.status}`;
  return { key: run.id, kind, name: formatRunTitle(run), path: `/runs/${run.id}` };
}

function toAgentHit({ id, name, status }: Pick<Agent, 'id' | 'name' | 'status'>): Hit {
  return { key: id, kind: `agent, ${status}`, name, path: `/agents/${id}` };
}

function toWorkflowHit({ id, name }: Pick<Workflow, 'id' | 'name'>): Hit {
  return { key: id, kind: 'workflow', name, path: `/workflows/${id}` };
}
