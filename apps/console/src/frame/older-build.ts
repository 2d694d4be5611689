/**
 * A page of an older build, whose parts have gone, is loaded anew, once: then the fault is shown. What did not come because
 * the connection was lost has not gone, and loading the page anew would take away what is typed.
 */
export async function reloadIfOlder(): Promise<void> {
  if (sessionStorage.getItem(lastReload) === location.href || !(await isOlder())) return;
  sessionStorage.setItem(lastReload, location.href);
  location.reload();
}

async function isOlder(): Promise<boolean> {
  const own = document.querySelector('script[type="module"][src]')?.getAttribute('src');
  try {
    const answer = await fetch(import.meta.env.BASE_URL, { cache: 'no-store' });
    return answer.ok && own !== null && own !== undefined && !(await answer.text()).includes(own);
  } catch {
    return false;
  }
}

const lastReload = 'muster-reloaded';
