// Takes the place of the tables that the page begins with; as a worker, lays graphs out.

import './style.css';
import { render } from 'preact';
import { readReports } from './data.js';
import { serveLayouts } from './graph.js';
import { Page } from './page.jsx';

async function show() {
  const reports = await readReports();
  const root = document.createElement('div');
  render(<Page originals={reports} />, root);
  document.getElementById('static').replaceWith(root);
  root.id = 'page';
}

if (typeof document === 'undefined') serveLayouts(self);
else show().catch(error => console.error(error)); // what was there stays
