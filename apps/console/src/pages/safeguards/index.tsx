import { Link } from '@tanstack/react-router';
import { Fragment } from 'react';
import { FactList, Page, Panel } from '../../ui/page';
import markdown from '../../../../../k8s/safeguards.md?raw';
import { parseSafeguards, type Safeguard } from './parse-safeguards';

const { title, introduction, safeguards } = parseSafeguards(markdown);

/** The text of `k8s/safeguards.md`. It needs no session, so that an auditor without an account can read it too. */
export function SafeguardsPage() {
  return (
    <main className="mx-auto max-w-4xl">
      <Page
        title={title}
        actions={
          <Link to="/settings" className="text-accent hover:underline">
            Settings
          </Link>
        }
      >
        {introduction.map((paragraph) => (
          <p key={paragraph}>
            <MarkedUp text={paragraph} />
          </p>
        ))}
        {safeguards.map((safeguard) => (
          <SafeguardPanel key={safeguard.title} safeguard={safeguard} />
        ))}
      </Page>
    </main>
  );
}

function SafeguardPanel({ safeguard: { title, product, operator, tests } }: { safeguard: Safeguard }) {
  return (
    <Panel title={title}>
      <FactList
        isStacked
        facts={[
          ['Muster', <MarkedUp key="product" text={product} />],
          ['Operator', <MarkedUp key="operator" text={operator} />],
          [
            'Tests',
            <ul key="tests" className="flex flex-col gap-1.5">
              {tests.map(({ file, name }) => (
                <li key={`${file} ${name}`}>
                  {name} <code className="text-dim">{file}</code>
                </li>
              ))}
            </ul>,
          ],
        ]}
      />
    </Panel>
  );
}

/** Text in which each part between backticks is code. */
function MarkedUp({ text }: { text: string }) {
  return text
    .split('`')
    .map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : <Fragment key={at}>{part}</Fragment>));
}
